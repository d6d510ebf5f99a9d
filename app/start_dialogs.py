"""What a start has to say or ask when there is no window yet."""

import sys
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from app.data.conversations import Conversations
from app.data.data_error import DataError
from app.data.database import move_aside
from app.language import tr


def tell(title: str, text: str) -> None:
    """Say why nothing opens, also to whoever looks at a terminal."""
    print(f"runahead: {text}", file=sys.stderr)
    _box(title, text).exec()


def open_conversations(path: Path) -> Conversations | None:
    """The conversations; None when they cannot be opened, which was told. The file is as it was.

    A damaged file is moved aside when a person agrees.
    """
    while True:
        try:
            return Conversations(path)
        except DataError as error:
            print(f"runahead: {error}", file=sys.stderr)
            if not _mended(path, error):
                return None


def _mended(path: Path, error: DataError) -> bool:
    box = _box(tr("Your conversations cannot be opened"), str(error))
    show = box.addButton(tr("Show the file"), QMessageBox.ButtonRole.ActionRole)
    aside = None
    if error.kind == "damaged":
        aside = box.addButton(tr("Move it aside"), QMessageBox.ButtonRole.AcceptRole)
    box.exec()
    if box.clickedButton() is show:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))
    if aside is None or box.clickedButton() is not aside:
        return False
    try:
        move_aside(path)
    except OSError as failure:
        tell(tr("The file cannot be moved"), f"{path}: {failure.strerror or failure}")
        return False
    return True


def _box(title: str, text: str) -> QMessageBox:
    box = QMessageBox(QMessageBox.Icon.NoIcon, "Runahead", title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setInformativeText(text)
    box.addButton(QMessageBox.StandardButton.Close)
    return box
