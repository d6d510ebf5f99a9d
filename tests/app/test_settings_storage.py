"""The settings page tells what files take, and deletes what is of no use any more, when asked."""

import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app import folders
from app.models import library_file
from app.models.known_model import known_model
from app.settings.settings import Settings
from app.settings.settings_page import SettingsPage
from app.theme.theme import Theme
from engine.model_info import inspect_model
from engine.pack import pack_path
from tests.helpers.models import tiny_model


@pytest.fixture
def page(qtbot: QtBot, settings: Settings, theme: Theme) -> Iterator[SettingsPage]:
    page = SettingsPage(settings, theme)
    qtbot.addWidget(page)
    page.resize(1000, 700)
    page.show()
    yield page
    page.shut_down()
    settings.close()


@pytest.fixture
def files(home: Path) -> Callable[[str, int], Path]:
    def make(name: str, n_bytes: int) -> Path:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * n_bytes)
        return path

    return make


def press(qtbot: QtBot, page: SettingsPage, action: str) -> None:
    """Answer the question that is open."""
    box = page.findChildren(QMessageBox)[-1]
    button = next(b for b in box.buttons() if b.text() == action)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_storage_tells_sizes_and_deletes_packs_that_no_known_model_uses(
    qtbot: QtBot, page: SettingsPage, files: Callable[[str, int], Path]
) -> None:
    info = inspect_model(tiny_model())
    model = known_model("1", 0.0, info)
    earlier = files("packs/tiny-0123456789abcdee.pack", 8192)
    model = msgspec.structs.replace(model, earlier_packs=(str(earlier),))
    library_file.save(folders.library(), [model])
    used = files(f"packs/{pack_path(info).name}", 40_960)
    unused = files("packs/gone-0123456789abcdef.pack", 81_920)
    half, left = (files(f"packs/{pack_path(info).name}.tmp-1-{n}", 4096) for n in range(2))
    writer = half.open("rb")
    fcntl.flock(writer, fcntl.LOCK_EX)
    page.show_section("Storage")
    view = page.storage
    qtbot.waitUntil(view.packs_button.isEnabled)
    assert view.packs_button.text() == "Delete 3 unused (94.2 kB)"
    assert view.sizes["packs"].text() == "139 kB"
    view.packs_button.click()
    press(qtbot, page, "Delete")
    qtbot.waitUntil(lambda: not view.packs_button.isEnabled())
    assert used.exists() and half.exists()
    assert not any(path.exists() for path in (unused, earlier, left))
    writer.close()


def test_what_could_not_be_deleted_is_told_until_the_next_time(
    qtbot: QtBot,
    page: SettingsPage,
    files: Callable[[str, int], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    files("packs/gone-0123456789abcdef.pack", 8192)
    page.show_section("Storage")
    view = page.storage
    qtbot.waitUntil(view.packs_button.isEnabled)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        view.packs_button.click()
        press(qtbot, page, "Delete")
        qtbot.waitUntil(view.problem.isVisible)
        qtbot.wait(200)  # it measures anew
    assert view.problem.isVisible() and "not permitted" in view.problem.text()
    view.packs_button.click()
    press(qtbot, page, "Delete")
    qtbot.waitUntil(lambda: not view.packs_button.isEnabled())
    assert not view.problem.isVisible()


def test_packs_are_kept_when_the_list_of_models_cannot_be_read(
    qtbot: QtBot, page: SettingsPage, files: Callable[[str, int], Path]
) -> None:
    files("packs/gone-0123456789abcdef.pack", 8192)
    folders.library().write_text("{")
    page.show_section("Storage")
    qtbot.waitUntil(page.storage.problem.isVisible)
    assert not page.storage.packs_button.isEnabled()


def test_old_runs_are_deleted_first_and_the_rest_only_when_none_is_too_many(
    qtbot: QtBot,
    page: SettingsPage,
    settings: Settings,
    files: Callable[[str, int], Path],
    home: Path,
) -> None:
    for n in range(5):
        files(f"runs/20260101-00000{n}-x/meta.json", 10)
        files(f"runs/20260101-00000{n}-x/events-0000.bin", 8192)
    settings.set("keep_runs", 2)
    page.show_section("Storage")
    view = page.storage
    qtbot.waitUntil(view.runs_button.isEnabled)
    assert view.runs_button.text().startswith("Delete 3 old")
    view.runs_button.click()
    press(qtbot, page, "Delete")
    qtbot.waitUntil(lambda: view.runs_button.text().startswith("Delete all"))
    assert sorted(p.name for p in (home / "runs").iterdir()) == [
        "20260101-000003-x",
        "20260101-000004-x",
    ]
    view.runs_button.click()
    press(qtbot, page, "Delete")
    qtbot.waitUntil(lambda: not view.runs_button.isEnabled())
    assert list((home / "runs").iterdir()) == []


def test_crash_reports_are_counted_and_deleted_after_a_question(
    qtbot: QtBot, page: SettingsPage, files: Callable[[str, int], Path]
) -> None:
    report = files("crash-reports/crash-2026-01-01-1.txt", 100)
    waiting = files("crash-reports/hard-crash.txt", 0)
    page.show_section("Privacy & reports")
    view = page.crash_reports
    qtbot.waitUntil(view.delete_button.isEnabled)
    view.delete_button.click()
    press(qtbot, page, "Delete")
    qtbot.waitUntil(lambda: not view.delete_button.isEnabled())
    assert not report.exists() and waiting.exists()
