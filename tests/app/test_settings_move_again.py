"""A move of the data folder that was interrupted, whose old folder was used before it goes on."""

from functools import partial
from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app import folders
from app.data.conversations import Conversations
from app.settings import data_move
from app.settings.data_move import clear_up, move, plan_move
from app.settings.finish_move import finish_move
from app.settings.settings import Settings
from engine import errors

OLD = {
    "conversations.sqlite": "chats of then",
    "conversations.sqlite-wal": "newest chats of then",
    "models.json": '{"models": []}',
    "runs/then/meta.json": "{}",
    "packs/a.pack": "pack",
}


class PowerCut(BaseException):
    """Nothing is taken back."""


@pytest.fixture(params=[True, False])
def same_disk(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person is told; the system's own folders are below tmp_path."""
    monkeypatch.delenv("RUNAHEAD_HOME", raising=False)
    for kind in ("config", "data", "cache"):
        place = tmp_path / ("config" if kind == "config" else "data")
        monkeypatch.setattr(
            f"engine.folders.platformdirs.user_{kind}_path", lambda app, place=place: place
        )
    told: list[str] = []
    for kind in ("warning", "information"):
        monkeypatch.setattr(QMessageBox, kind, lambda parent, title, text: told.append(text))
    put(tmp_path / "data", OLD)
    return told


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in found}


def interrupted(target: Path, monkeypatch: pytest.MonkeyPatch, *, same_disk: bool) -> None:
    """The power goes when the chats have moved but not all else; then the settings are lost."""
    plan = msgspec.structs.replace(plan_move(target), same_disk=same_disk)
    bring, delete = data_move._bring, data_move.delete
    database = folders.database()

    def brought(piece: data_move.Piece, *rest: object) -> None:
        if same_disk and Path(piece.source).name == "packs":
            raise PowerCut
        bring(piece, *rest)  # type: ignore[arg-type]

    def deleted(path: Path) -> None:
        if path.name == "models.json":
            raise PowerCut
        delete(path)

    with monkeypatch.context() as patched:
        patched.setattr(data_move, "_bring", brought)
        patched.setattr(data_move, "delete", deleted)
        patched.setattr(data_move, "_take_back", lambda plan: None)
        with pytest.raises(PowerCut):
            move(plan, partial(commit, target))
    folders.settings_file().unlink(missing_ok=True)
    assert folders.database() == database and not database.exists()


def commit(target: Path) -> None:
    settings = Settings(folders.settings_file())
    settings.set("data_folder", str(target))
    settings.close()


def move_to(target: Path) -> None:
    settings = Settings(folders.settings_file())
    settings.set("next_data_folder", str(target))
    finish_move(settings)
    settings.close()


NEW = {
    "conversations.sqlite": "chats of today",
    "models.json": '{"models": [1]}',
    "runs/today/meta.json": "{}",
    "packs/b.pack": "pack",
}


def test_chats_that_were_begun_meanwhile_move_and_those_of_then_are_kept(
    qtbot: QtBot,
    tmp_path: Path,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    same_disk: bool,
) -> None:
    interrupted(tmp_path / "big", monkeypatch, same_disk=same_disk)
    put(tmp_path / "data", NEW)
    move_to(tmp_path / "big")
    assert folders.data() == tmp_path / "big"
    found = contents(tmp_path / "big")
    (kept,) = (tmp_path / "big").glob("kept-*")
    for name in ("conversations.sqlite", "conversations.sqlite-wal", "models.json"):
        assert (kept / name).read_text() == OLD[name]
        assert found.get(name) == NEW.get(name)
    assert found["runs/today/meta.json"] == found["runs/then/meta.json"] == "{}"
    assert len(told) == 1 and str(tmp_path / "big" / "kept-") in told[0]
    assert contents(tmp_path / "data") == {}


def test_conversations_that_say_nothing_are_those_of_a_start_and_give_way(
    qtbot: QtBot,
    tmp_path: Path,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    same_disk: bool,
) -> None:
    interrupted(tmp_path / "big", monkeypatch, same_disk=same_disk)
    conversations = Conversations(tmp_path / "data" / "conversations.sqlite")
    conversations.create()
    conversations.close()
    (tmp_path / "data" / "runs").mkdir(exist_ok=True)
    move_to(tmp_path / "big")
    assert told == []
    assert contents(tmp_path / "big") == OLD
    assert contents(tmp_path / "data") == {}


def test_when_it_fails_again_nothing_is_lost_either(
    qtbot: QtBot,
    tmp_path: Path,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    same_disk: bool,
) -> None:
    interrupted(tmp_path / "big", monkeypatch, same_disk=same_disk)
    put(tmp_path / "data", NEW)
    with pytest.raises(errors.StorageError):
        move(plan_move(tmp_path / "big"), _fail)
    found = contents(tmp_path)
    for text in (*OLD.values(), *NEW.values()):
        assert text in found.values()
    assert contents(tmp_path / "data")["conversations.sqlite"] == "chats of today"


def test_what_is_kept_is_told_also_where_the_power_goes_again(
    qtbot: QtBot, tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(tmp_path / "big", monkeypatch, same_disk=True)
    put(tmp_path / "data", NEW)
    with monkeypatch.context() as patched:
        patched.setattr(data_move, "_bring", _die)
        patched.setattr(data_move, "_take_back", lambda plan: None)
        with pytest.raises(PowerCut):
            move(plan_move(tmp_path / "big"), partial(commit, tmp_path / "big"))
    assert told == []
    move_to(tmp_path / "big")
    assert len(told) == 1 and str(tmp_path / "big" / "kept-") in told[0]


def _die(*_: object, **__: object) -> None:
    raise PowerCut


def _fail() -> None:
    raise errors.StorageError("the settings cannot be written")


def test_clearing_up_after_an_interruption_deletes_only_what_has_moved(
    qtbot: QtBot, tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(tmp_path / "big", monkeypatch, same_disk=False)
    (tmp_path / "data" / "conversations.sqlite").write_text("chats of today")
    (tmp_path / "data" / "runs" / "more").mkdir()  # of a folder that was being deleted
    commit(tmp_path / "big")  # the settings are there again
    clear_up()
    assert contents(tmp_path / "big") == OLD
    assert contents(tmp_path / "data") == {"conversations.sqlite": "chats of today"}


def test_chats_that_only_a_file_beside_the_others_has_stay_with_them(
    qtbot: QtBot, tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "conversations.sqlite-wal").unlink()
    plan = msgspec.structs.replace(plan_move(tmp_path / "big"), same_disk=False)
    with monkeypatch.context() as patched:
        patched.setattr(data_move, "clear_up", _die)
        with pytest.raises(PowerCut):
            move(plan, partial(commit, tmp_path / "big"))
    chats = {
        "conversations.sqlite": "chats of then",
        "conversations.sqlite-wal": "chats of today",
    }
    put(tmp_path / "data", {"conversations.sqlite-wal": "chats of today"})
    clear_up()
    assert contents(tmp_path / "data") == chats
