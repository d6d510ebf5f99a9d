"""ItemsEdit: a list to type or paste, one item per line."""

from pathlib import Path

from PySide6.QtCore import QMimeData, QSize, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.language import tr
from app.subtasks.item_lists import items_of_lines, items_of_paste, text_of

MOST_FILE_BYTES = 4 << 20


class ItemsEdit(QPlainTextEdit):
    """What is pasted or dropped becomes one item per line, whatever it was; Ctrl+Z undoes that.

    Signals:
        refused: A file cannot be read. arg: a sentence.
    """

    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None):
        super().__init__(parent)
        self.setAccessibleName(tr("Items, one per line"))
        self.setPlaceholderText(tr("One item per line. Paste a list, a table or JSON."))
        self.setTabChangesFocus(True)

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """As little as it may have: it takes what a page leaves it."""
        return QSize(240, self.minimumHeight())

    @property
    def items(self) -> list[str]:
        """One per line that is not empty."""
        return items_of_lines(self.toPlainText())

    def set_items(self, items: list[str]) -> None:
        """Replace all; can be undone."""
        set_text(self, "\n".join(items))

    def read_file(self, path: Path) -> None:
        """Add the items of a file."""
        try:
            if path.stat().st_size > MOST_FILE_BYTES:
                self.refused.emit(tr("{file} is larger than 4 MB.", file=path.name))
                return
            text = text_of(path.read_bytes())
        except OSError as error:
            self.refused.emit(
                tr("{file} cannot be read: {why}.", file=path.name, why=error.strerror)
            )
            return
        self._add(text)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:  # noqa: N802, Qt's name
        """Text and files."""
        return source.hasUrls() or source.hasText()

    def insertFromMimeData(self, source: QMimeData) -> None:  # noqa: N802, Qt's name
        """Lay out what is pasted."""
        files = [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]
        for file in files:
            self.read_file(file)
        if not files and source.hasText():
            text = source.text()
            if "\n" in text.strip() or text.strip().startswith(("[", "{")):
                self._add(text)
            else:
                self.insertPlainText(text)

    def _add(self, text: str) -> None:
        cursor = self.textCursor()
        before = "" if cursor.atBlockStart() or cursor.hasSelection() else "\n"
        cursor.insertText(before + "\n".join(items_of_paste(text)) + "\n")
        self.setTextCursor(cursor)
        self.ensureCursorVisible()


def set_text(field: QPlainTextEdit, text: str) -> None:
    """Replace all; can be undone."""
    cursor = QTextCursor(field.document())
    cursor.beginEditBlock()
    cursor.select(QTextCursor.SelectionType.Document)
    cursor.insertText(text)
    cursor.endEditBlock()
    field.setTextCursor(cursor)
