"""Asking for files begins where the person was last, and never where the program was started."""

from pathlib import Path

import pytest
from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.widgets import ask_file
from app.widgets.ask_file import Place, ask_files, ask_folder, ask_where_to_save, first_folder


@pytest.fixture
def over(qtbot: QtBot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
    return widget


@pytest.fixture
def usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the system says is the folder for documents and downloads."""
    folder = tmp_path / "usual"
    folder.mkdir()
    monkeypatch.setattr(QStandardPaths, "writableLocation", staticmethod(lambda kind: str(folder)))
    return folder


def shown_folder(dialog: QFileDialog) -> Path:
    return Path(dialog.directory().absolutePath())


def accept(qtbot: QtBot, dialog: QFileDialog, chosen: Path) -> None:
    dialog.selectFile(str(chosen))
    with qtbot.waitSignal(dialog.finished):
        dialog.accept()


def test_the_first_time_it_begins_in_the_systems_folder_not_in_the_current_one(
    over: QWidget, settings: Settings, usual: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for dialog in (
        ask_files(over, settings, "Add models", print, place="models"),
        ask_folder(over, settings, "Add a folder", print, place="models"),
        ask_where_to_save(over, settings, "Export", "run.csv", print),
    ):
        assert shown_folder(dialog) == usual
        dialog.close()


def test_the_next_time_it_begins_where_the_last_file_was(
    qtbot: QtBot, over: QWidget, settings: Settings, usual: Path, tmp_path: Path
) -> None:
    file = tmp_path / "models" / "a.gguf"
    file.parent.mkdir()
    file.write_bytes(b"GGUF")
    got: list[list[Path]] = []
    dialog = ask_files(
        over, settings, "Add models", got.append, place="models", name_filter="GGUF (*.gguf)"
    )
    dialog.setDirectory(str(file.parent))
    accept(qtbot, dialog, file)
    assert got == [[file]]
    assert first_folder(settings, "models") == file.parent
    assert first_folder(settings, "files") == usual  # exports are elsewhere


def test_a_file_to_save_gets_the_suffix_of_the_name_that_was_offered(
    qtbot: QtBot, over: QWidget, settings: Settings, usual: Path, tmp_path: Path
) -> None:
    got: list[Path] = []
    dialog = ask_where_to_save(over, settings, "Export", "Version 1.2.csv", got.append)
    dialog.setDirectory(str(tmp_path))
    accept(qtbot, dialog, tmp_path / "table")
    assert got == [tmp_path / "table.csv"]
    assert first_folder(settings, "files") == tmp_path


@pytest.mark.parametrize("place", ["models", "files"])
def test_a_folder_that_has_gone_is_not_begun_in(
    settings: Settings, usual: Path, tmp_path: Path, place: Place
) -> None:
    settings.set(ask_file._REMEMBERED[place], str(tmp_path / "gone"))
    assert first_folder(settings, place) == usual
    usual.rmdir()
    assert first_folder(settings, place) == Path.home()


def test_without_a_home_it_begins_somewhere(
    settings: Settings, usual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(user: int) -> object:
        raise KeyError(user)

    usual.rmdir()
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert first_folder(settings, "files").is_dir()


def test_nothing_in_the_window_asks_for_files_in_another_way() -> None:
    app = Path(ask_file.__file__).parents[1]
    asking = [path for path in app.rglob("*.py") if "QFileDialog" in path.read_text()]
    assert asking == [Path(ask_file.__file__)]
