"""The data folder moves whole or not at all, whatever happens on the way."""

import errno
import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app import folders
from app.settings import data_move
from app.settings.data_folder_view import DataFolderView
from app.settings.data_move import MovePlan, clear_up, move, plan_move
from app.settings.finish_move import finish_move
from app.settings.settings import Settings
from app.settings.settings_page import SettingsPage
from app.single_instance import SingleInstance
from app.theme.theme import Theme
from engine import errors
from engine.atomic_file import write_json


class Crash(BaseException):
    """The power goes."""


@pytest.fixture(autouse=True)
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's own folders, all below tmp_path, with something in each."""
    monkeypatch.delenv("RUNAHEAD_HOME", raising=False)
    for kind in ("config", "data", "cache"):
        monkeypatch.setattr(
            f"engine.folders.platformdirs.user_{kind}_path", lambda app, kind=kind: tmp_path / kind
        )
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("HERE", str(tmp_path)))
    library = tmp_path / "data" / "models.json"
    write_json(library, json.loads(library.read_text()))
    return tmp_path


FILES = {
    "data/conversations.sqlite": "chats",
    "data/conversations.sqlite-wal": "newest chats",
    "data/models.json": '{"models": ["HERE/data/models/demo.gguf", "/elsewhere/x.gguf"]}',
    "data/models/demo.gguf": "gguf",
    "data/runs/20260101-000000-x/meta.json": "{}",
    "cache/packs/demo.pack": "pack " * 1000,
}


def contents(folder: Path) -> dict[str, str]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in found}


@pytest.fixture(params=["same disk", "other disk"])
def plan(request: pytest.FixtureRequest, system: Path) -> MovePlan:
    plan = plan_move(system / "big" / "runahead")
    assert plan.problems == ()
    return msgspec.structs.replace(plan, same_disk=request.param == "same disk")


@pytest.fixture
def settings(qtbot: QtBot) -> Iterator[Settings]:
    settings = Settings(folders.settings_file())
    yield settings
    settings.close()


def choose(plan: MovePlan) -> None:
    """What the settings do when a move is whole."""
    folders.settings_file().parent.mkdir(exist_ok=True)
    folders.settings_file().write_text(json.dumps({"version": 1, "data_folder": plan.target}))


def moved_contents(system: Path) -> dict[str, str]:
    expected = {
        name.split("/", 1)[1]: text.replace("HERE", str(system)) for name, text in FILES.items()
    }
    expected.pop("models.json")
    return expected


def test_everything_comes_to_the_new_place_and_nothing_stays(system: Path, plan: MovePlan) -> None:
    seen: list[tuple[int, int]] = []
    move(plan, lambda: choose(plan), lambda done, total: seen.append((done, total)) or True)
    found = contents(folders.data())
    library = json.loads(found.pop("models.json"))
    assert found == moved_contents(system)
    assert library == {"models": [f"{plan.target}/models/demo.gguf", "/elsewhere/x.gguf"]}
    assert contents(system / "data") == {}
    assert contents(system / "cache") == {}
    assert all(0 <= done <= total == plan.n_bytes for done, total in seen)
    assert folders.packs() == Path(plan.target) / "packs"


def test_links_lead_where_they_led(system: Path) -> None:
    (system / "elsewhere" / "old").mkdir(parents=True)
    (system / "elsewhere" / "old" / "meta.json").write_text("old")
    runs = system / "data" / "runs"
    (runs / "old").symlink_to(Path("../../elsewhere/old"))
    (runs / "absolute").symlink_to(system / "elsewhere" / "old")
    (runs / "again").symlink_to("20260101-000000-x")
    (system / "data" / "all").symlink_to("../elsewhere")
    (runs / "empty").mkdir()
    for same_disk, place in ((True, "a/big"), (False, "deep/er/still")):
        plan = msgspec.structs.replace(plan_move(system / place), same_disk=same_disk)
        move(plan, partial(choose, plan))
        runs = folders.data() / "runs"
        links = [runs / "old", runs / "absolute", runs / "again", folders.data() / "all" / "old"]
        assert all(path.is_symlink() for path in (*links[:3], folders.data() / "all"))
        texts = [(path / "meta.json").read_text() for path in links]
        assert texts == ["old", "old", "{}", "old"]
        assert (runs / "empty").is_dir()
        assert (runs / "again").readlink() == Path("20260101-000000-x")
    assert (system / "elsewhere" / "old" / "meta.json").is_file()
    assert not (system / "data" / "runs").exists()


def test_settings_in_the_data_folder_stay(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.folders.platformdirs.user_config_path", lambda app: system / "data")
    (system / "data" / "settings.json").write_text("{}")
    names = {Path(piece.source).name for piece in plan_move(system / "big").pieces}
    assert "settings.json" not in names
    assert "packs" in names and "models" in names


def test_the_lock_of_the_window_stays(system: Path) -> None:
    lock = SingleInstance(system / "data")
    assert lock.take() == ""
    names = {Path(piece.source).name for piece in plan_move(system / "big").pieces}
    assert not any(name.endswith(".lock") for name in names)
    lock.release()


@pytest.mark.parametrize("fails_at", range(8))
@pytest.mark.parametrize("kind", [OSError(28, "No space left on device"), Crash()])
def test_a_move_that_fails_anywhere_leaves_everything_in_its_place(
    system: Path,
    plan: MovePlan,
    monkeypatch: pytest.MonkeyPatch,
    fails_at: int,
    kind: BaseException,
) -> None:
    before = contents(system)
    n_calls = 0

    def rename(self: Path, target: Path) -> Path:
        nonlocal n_calls
        n_calls += 1
        if n_calls == fails_at + 1 and "big" in Path(target).parts:  # on the way there
            raise kind
        return self.replace(target)

    def commit() -> None:
        raise kind

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename)
        with pytest.raises((errors.OutOfSpaceError, Crash)):
            move(plan, commit)
    assert contents(system) == before
    assert not plan_move(Path(plan.target)).problems


def test_cancelling_leaves_everything_in_its_place(system: Path, plan: MovePlan) -> None:
    before = contents(system)
    with pytest.raises(errors.Cancelled):
        move(plan, lambda: choose(plan), lambda done, total: done < total // 2)
    assert contents(system) == before


@pytest.mark.parametrize("dies_at", range(6))
def test_after_a_crash_the_move_goes_on_where_it_was(
    system: Path, plan: MovePlan, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    n_brought = 0
    bring = data_move._bring

    def dying(*args: object) -> None:
        nonlocal n_brought
        if n_brought == dies_at:
            raise Crash
        n_brought += 1
        bring(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(data_move, "_bring", dying)
        patched.setattr(data_move, "_take_back", lambda plan: None)  # a dead process does nothing
        with pytest.raises(Crash):
            move(plan, lambda: choose(plan))
    again = plan_move(Path(plan.target))
    assert again == plan
    move(again, lambda: choose(plan))
    found = contents(folders.data())
    found.pop("models.json")
    assert found == moved_contents(system)
    assert contents(system / "data") == {}


def test_after_a_crash_before_the_old_pieces_are_gone_the_next_start_deletes_them(
    system: Path, plan: MovePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(**_: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(data_move, "clear_up", die)
        with pytest.raises(Crash):
            move(plan, lambda: choose(plan))
    clear_up()
    assert contents(system / "data") == {}
    assert contents(folders.data()).keys() == {*moved_contents(system), "models.json"}
    clear_up()  # nothing more to do


def test_a_copy_that_an_interrupted_move_has_left_gives_way_to_what_was_done_since(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = msgspec.structs.replace(plan_move(system / "big"), same_disk=False)

    with monkeypatch.context() as patched:
        patched.setattr(data_move, "_take_back", lambda plan: None)  # the disk is not there
        with pytest.raises(ZeroDivisionError):
            move(plan, partial(divmod, 1, 0))
    data = system / "data"
    (data / "conversations.sqlite").write_text("chats of today")
    (data / "conversations.sqlite-wal").unlink()
    (data / "new").write_text("new")
    before = contents(data)
    move(plan_move(system / "big"), lambda: choose(plan))
    found = contents(system / "big")
    assert before.pop("models.json") != found.pop("models.json")
    assert found == before | {"packs/demo.pack": FILES["cache/packs/demo.pack"]}
    assert contents(data) == {}


def test_what_cannot_be_deleted_in_the_old_folder_is_no_reason_to_say_that_nothing_moved(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = msgspec.structs.replace(plan_move(system / "big"), same_disk=False)

    def refuse(path: Path) -> None:
        if path.is_relative_to(system / "data"):
            raise PermissionError(1, "Operation not permitted")
        delete(path)

    delete = data_move.delete
    monkeypatch.setattr(data_move, "delete", refuse)
    move(plan, lambda: choose(plan))
    clear_up()
    assert contents(folders.data()).keys() == {*moved_contents(system), "models.json"}


def test_a_link_that_leads_round_in_a_circle_moves_as_it_is(system: Path, plan: MovePlan) -> None:
    for folder in (system / "data", system / "data" / "runs"):
        (folder / "round").symlink_to("round")
    move(plan, lambda: choose(plan))
    assert (folders.data() / "runs" / "round").readlink() == Path("round")
    assert contents(folders.data()).keys() == {*moved_contents(system), "models.json"}


def test_a_folder_that_cannot_be_listed_stops_the_move(
    system: Path, plan: MovePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: object) -> object:
        raise OSError(errno.EIO, "Input/output error")

    before = contents(system)
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", fail)
        with pytest.raises(errors.StorageError, match="Input/output error"):
            move(plan, lambda: choose(plan))
    assert contents(system) == before


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("data", "already"),
        ("data/models/inside", "inside"),
        ("a file", "is a file"),
        ("taken", "has conversations.sqlite already"),
        ("linked", "has runs already"),
    ],
)
def test_a_place_that_will_not_do_is_refused_with_the_reason(
    system: Path, target: str, why: str
) -> None:
    (system / "a file").write_text("")
    (system / "taken").mkdir()
    (system / "taken" / "conversations.sqlite").write_text("other chats")
    (system / "linked").mkdir()
    (system / "linked" / "runs").symlink_to(system / "a disk that is not there")
    plan = plan_move(system / target)
    assert any(why in problem for problem in plan.problems)
    with pytest.raises(errors.StorageError):
        move(plan, lambda: None)


def test_a_disk_without_room_is_refused_before_anything_is_copied(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_move, "SPARE_BYTES", 1 << 60)
    monkeypatch.setattr(data_move, "_on_one_disk", lambda pieces, parent: False)
    assert any("lacks" in problem for problem in plan_move(system / "big").problems)
    assert not (system / "big").exists()


def test_the_environment_forbids_it(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNAHEAD_HOME", str(system / "home"))
    assert any("RUNAHEAD_HOME" in problem for problem in plan_move(system / "big").problems)


# At the start of the window.


def test_a_move_that_waits_is_done_at_the_start(system: Path, settings: Settings) -> None:
    settings.set("next_data_folder", str(system / "big"))
    settings.set("last_model", str(system / "data" / "models" / "demo.gguf"))
    finish_move(settings)
    assert folders.data() == system / "big"
    assert contents(system / "big")["conversations.sqlite"] == "chats"
    assert settings.get("last_model") == str(system / "big" / "models" / "demo.gguf")
    assert Settings(folders.settings_file()).get("next_data_folder") == ""


def test_a_move_that_fails_at_the_start_is_told_and_the_old_folder_is_used(
    system: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(QMessageBox, "warning", lambda parent, title, text: told.append(text))
    (system / "file").write_text("")
    settings.set("next_data_folder", str(system / "file" / "x"))
    finish_move(settings)
    assert len(told) == 1
    assert folders.data() == system / "data"
    assert settings.get("next_data_folder") == ""


def test_a_folder_that_another_window_has_open_does_not_move(
    system: Path, settings: Settings
) -> None:
    before = contents(system / "data")
    other = SingleInstance(system / "data")
    other.take()
    settings.set("next_data_folder", str(system / "big"))
    finish_move(settings)
    assert settings.get("next_data_folder") == str(system / "big")
    other.release()
    assert contents(system / "data") == before


# On the page.


@pytest.fixture
def view(qtbot: QtBot, settings: Settings, theme: Theme) -> Iterator[DataFolderView]:
    page = SettingsPage(settings, theme)
    qtbot.addWidget(page)
    page.show()
    page.show_section("Storage")
    yield page.data_folder
    page.shut_down()


def test_a_proposal_shows_what_would_move_and_waits_for_the_next_start(
    qtbot: QtBot, system: Path, settings: Settings, view: DataFolderView
) -> None:
    view.propose(system / "big")
    qtbot.waitUntil(view.move_button.isVisible)
    assert "conversations.sqlite" in view.outcome.text() and "packs" in view.outcome.text()
    view.move_button.click()
    assert settings.get("next_data_folder") == str(system / "big")
    assert not view.change_button.isEnabled()
    with qtbot.waitSignal(view.restart_wanted):
        view.restart_button.click()
    view.cancel_button.click()
    assert settings.get("next_data_folder") == ""
    assert view.change_button.isEnabled()
    assert contents(system)["data/conversations.sqlite"] == "chats"


def test_a_place_that_will_not_do_is_told_on_the_page(
    qtbot: QtBot, system: Path, view: DataFolderView
) -> None:
    view.propose(system / "data" / "models")
    qtbot.waitUntil(lambda: "cannot move" in view.outcome.text())
    assert not view.move_button.isVisible()
    view.cancel_button.click()
    assert not view.outcome.isVisible()
