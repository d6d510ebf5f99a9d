"""Asks for files or folders, beginning where the person was last, without stopping the window."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QDir, QStandardPaths, Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from app.settings.settings import Settings

# Models lie elsewhere than what is imported and exported, so each kind of place is remembered.
Place = Literal["models", "files"]
_REMEMBERED: dict[Place, str] = {"models": "last_models_folder", "files": "last_files_folder"}
_FIRST: dict[Place, QStandardPaths.StandardLocation] = {
    "models": QStandardPaths.StandardLocation.DownloadLocation,
    "files": QStandardPaths.StandardLocation.DocumentsLocation,
}


def ask_files(
    over: QWidget,
    settings: Settings,
    title: str,
    on_chosen: Callable[[list[Path]], None],
    *,
    place: Place = "files",
    name_filter: str = "",
    begin: Path | None = None,
    one: bool = False,
) -> QFileDialog:
    """Ask for files to read; `begin` is a folder that is known to be nearer."""
    dialog = _dialog(over, settings, title, place, begin)
    mode = QFileDialog.FileMode
    dialog.setFileMode(mode.ExistingFile if one else mode.ExistingFiles)
    if name_filter:
        dialog.setNameFilter(name_filter)

    def chosen(names: list[str]) -> None:
        paths = [Path(name) for name in names]
        settings.set(_REMEMBERED[place], str(paths[0].parent))
        on_chosen(paths)

    dialog.filesSelected.connect(chosen)
    dialog.open()
    return dialog


def ask_folder(
    over: QWidget,
    settings: Settings,
    title: str,
    on_chosen: Callable[[Path], None],
    *,
    place: Place = "files",
    begin: Path | None = None,
) -> QFileDialog:
    """Ask for a folder."""
    dialog = _dialog(over, settings, title, place, begin)
    dialog.setFileMode(QFileDialog.FileMode.Directory)

    def chosen(name: str) -> None:
        settings.set(_REMEMBERED[place], name)
        on_chosen(Path(name))

    dialog.fileSelected.connect(chosen)
    dialog.open()
    return dialog


def ask_where_to_save(
    over: QWidget,
    settings: Settings,
    title: str,
    name: str,
    on_chosen: Callable[[Path], None],
    *,
    name_filter: str = "",
) -> QFileDialog:
    """Ask for a file to write, called `name` unless the person says otherwise.

    What the person types without a suffix gets that of `name`.
    """
    dialog = _dialog(over, settings, title, "files", None)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    if name_filter:
        dialog.setNameFilter(name_filter)
    dialog.setDefaultSuffix("".join(Path(name).suffixes[-1:]))
    dialog.selectFile(name)

    def chosen(file: str) -> None:
        settings.set(_REMEMBERED["files"], str(Path(file).parent))
        on_chosen(Path(file))

    dialog.fileSelected.connect(chosen)
    dialog.open()
    return dialog


def first_folder(settings: Settings, place: Place) -> Path:
    """Where the person was last, else the system's folder for such files, else home.

    Never the folder that the program happens to have been started in.
    """
    usual = QStandardPaths.writableLocation(_FIRST[place])
    for name in (settings.get(_REMEMBERED[place]), usual):
        if name and Path(name).is_dir():
            return Path(name)
    return Path(QDir.homePath())  # which is also something where nobody has one


def _dialog(
    over: QWidget, settings: Settings, title: str, place: Place, begin: Path | None
) -> QFileDialog:
    dialog = QFileDialog(over, title, str(begin or first_folder(settings, place)))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return dialog
