"""Whatever stops a move of the data folder at the start is told, and the start goes on."""

from functools import partial
from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app import folders
from app.settings import data_move
from app.settings.data_move import move, plan_move
from app.settings.finish_move import finish_move
from app.settings.settings import Settings


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person is told; the system's own folders are below tmp_path."""
    monkeypatch.delenv("RUNAHEAD_HOME", raising=False)
    for kind in ("config", "data", "cache"):
        monkeypatch.setattr(
            f"engine.folders.platformdirs.user_{kind}_path", lambda app, kind=kind: tmp_path / kind
        )
    told: list[str] = []
    monkeypatch.setattr(QMessageBox, "warning", lambda parent, title, text: told.append(text))
    return told


def move_to(target: str) -> None:
    settings = Settings(folders.settings_file())
    settings.set("next_data_folder", target)
    finish_move(settings)
    settings.close()
    assert settings.get("next_data_folder") == ""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_ours_in_a_move_is_told_too(
    qtbot: QtBot, tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr("app.settings.finish_move.move", fail)
    move_to(str(tmp_path / "big"))
    assert len(told) == 1 and "a bug of ours" in told[0]
    assert folders.data() == tmp_path / "data"


@pytest.mark.parametrize("target", ["~nobody-of-that-name/x", "/tmp/\0"])
def test_what_can_be_no_path_is_told(
    qtbot: QtBot, tmp_path: Path, told: list[str], target: str
) -> None:
    move_to(target)
    assert len(told) == 1 and told[0].startswith("The new data folder is ")
    assert folders.data() == tmp_path / "data"


def test_a_copy_that_the_environment_names_costs_the_old_folder_nothing(
    qtbot: QtBot, tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = tmp_path / "data" / "conversations.sqlite"
    chats.parent.mkdir()
    chats.write_text("chats of then")
    plan = msgspec.structs.replace(plan_move(tmp_path / "big"), same_disk=False)
    with monkeypatch.context() as patched:
        patched.setattr(data_move, "_take_back", lambda plan: None)  # the disk is not there
        with pytest.raises(ZeroDivisionError):
            move(plan, partial(divmod, 1, 0))
    chats.write_text("chats of today")
    monkeypatch.setenv("RUNAHEAD_HOME", str(tmp_path / "big"))
    settings = Settings(folders.settings_file())
    finish_move(settings)
    settings.close()
    assert folders.database().read_text() == "chats of then"
    assert chats.read_text() == "chats of today"


def test_a_move_that_was_whole_goes_on_also_when_the_settings_know_no_more_of_that(
    qtbot: QtBot, tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class PowerCut(BaseException):
        pass

    def delete(path: Path) -> None:
        path.unlink(missing_ok=True)
        if path == chats:
            raise PowerCut

    def commit() -> None:
        settings = Settings(folders.settings_file())
        settings.set("data_folder", plan.target)
        settings.close()

    chats = tmp_path / "data" / "conversations.sqlite"
    chats.parent.mkdir()
    for path in (chats, chats.with_name("more")):
        path.write_text(path.name)
    plan = msgspec.structs.replace(plan_move(tmp_path / "big"), same_disk=False)
    with monkeypatch.context() as patched:
        patched.setattr(data_move, "delete", delete)
        with pytest.raises(PowerCut):
            move(plan, commit)
    assert not chats.exists()
    folders.settings_file().unlink()
    move_to(plan.target)
    assert told == [] and folders.data() == tmp_path / "big"
    assert folders.database().read_text() == chats.name
    assert list(chats.parent.iterdir()) == []
