"""The dressed window, small or with large letters: everything that should be read can be."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.chat.composer import Composer
from app.data.task import Task
from app.engine_service import EngineService
from app.theme.theme import Theme
from app.widgets.toast import Toast
from app.window import MainWindow
from engine.options import EngineOptions
from tests.helpers.cut_widgets import cut_widgets
from tests.helpers.fake_client import FakeClient

if TYPE_CHECKING:
    from app.data.conversations import Conversations
    from app.models.library import ModelLibrary
    from app.settings.settings import Settings

PAGES = ("chats", "subtasks", "monitor", "models", "runs", "settings")


@pytest.fixture
def window(
    dressed: Theme,
    qtbot: QtBot,
    service: EngineService,
    conversations: "Conversations",
    library: "ModelLibrary",
    settings: "Settings",
    fake_client: FakeClient,
) -> Iterator[MainWindow]:
    fake_client.become_ready()
    window = MainWindow(service, conversations, library, settings, dressed)
    window.show()
    chat = conversations.create(title="A chat with a title of some length")
    conversations.add_message(chat.id, "user", "What is it?")
    conversations.add_message(chat.id, "assistant", "It is this. " * 30)
    window.open_conversation(chat.id)
    window.show_page("subtasks")
    items = ["Bergen", "Oslo"]
    window.pages.subtasks.form.submitted.emit(Task(id="", title="Guide", prompt="Of"), items)
    run = window.pages.subtasks.runs.all()[0]
    qtbot.waitUntil(lambda: not run.is_active)
    yield window
    window.close()
    window.deleteLater()


@pytest.mark.parametrize(
    ("width", "height", "points"), [(860, 600, 10.5), (1100, 700, 8), (1100, 700, 24)]
)
def test_nothing_is_cut_in_a_small_window_or_with_large_letters(
    window: MainWindow, dressed: Theme, qtbot: QtBot, width: int, height: int, points: float
) -> None:
    dressed.set_font_size(points)
    window.resize(width, height)
    for name in PAGES:
        window.show_page(name)
        _wait_until_laid_out(window, qtbot)
        assert cut_widgets(window) == [], name
    assert window.width() <= width


@pytest.mark.parametrize("name", ["chats", "subtasks", "models", "settings"])
def test_beside_the_open_monitor_a_page_in_a_small_window_hides_its_list_or_turns(
    window: MainWindow, qtbot: QtBot, name: str
) -> None:
    window.resize(860, 600)
    window.show_page(name)
    window.show_dock(True)
    _wait_until_laid_out(window, qtbot)
    assert window.area.dock.isVisible()
    assert window.width() == 860
    assert cut_widgets(window) == []


def test_beside_the_open_monitor_in_a_small_window_the_settings_of_a_chat_take_its_place(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.resize(860, 600)
    window.show_page("chats")
    window.show_dock(True)
    page = window.pages.chats
    view, panel, tabs = page.tabs.current, page.panel, page.tabs
    assert view is not None
    tabs.set_streaming(view.chat.id, True)
    view.settings_asked.emit()
    _wait_until_laid_out(window, qtbot)
    assert window.width() == 860 and panel.width() == page.width()
    assert cut_widgets(window) == []
    assert panel.close_button.isVisible() and not view.isVisible()
    tabs.set_streaming(view.chat.id, False)
    index = tabs.ids.index(view.chat.id)
    assert not tabs.bar.tabIcon(index).isNull()  # it has ended unseen
    panel.close_button.click()
    assert view.isVisible() and not panel.isVisible() and tabs.bar.tabIcon(index).isNull()
    view.settings_asked.emit()
    assert not view.isVisible()
    window.open_conversation(view.chat.id)
    assert view.isVisible() and not panel.isVisible()
    view.settings_asked.emit()
    window.resize(1400, 600)
    qtbot.waitUntil(lambda: view.isVisible() and panel.width() == panel.usual_width)


def _sideways(widget: QWidget) -> list[QScrollArea]:
    areas = [area for area in widget.findChildren(QScrollArea) if area.isVisible()]
    return [area for area in areas if area.horizontalScrollBar().maximum() > 0]


def _wait_until_laid_out(window: MainWindow, qtbot: QtBot) -> None:
    for _ in range(40):
        qtbot.wait(30)
        if not cut_widgets(window):
            return


def test_no_page_scrolls_sideways_in_the_smallest_window(window: MainWindow, qtbot: QtBot) -> None:
    window.resize(860, 560)
    window.show_page("subtasks")
    window.pages.subtasks.start_new()
    window.pages.subtasks.form.items.set_items(["Bergen", "Oslo"])
    sections = list(window.pages.get("settings").sections)  # type: ignore[attr-defined]
    for name in (*PAGES, *sections):
        window.show_page(name if name in PAGES else "settings")
        if name in sections:
            window.pages.get("settings").show_section(name)  # type: ignore[attr-defined]
        _wait_until_laid_out(window, qtbot)
        qtbot.waitUntil(lambda: not _sideways(window))
    window.show_dock(True)
    for name in ("chats", "subtasks"):
        window.show_page(name)
        _wait_until_laid_out(window, qtbot)
        qtbot.waitUntil(lambda: not _sideways(window.area))
    assert window.pages.subtasks.form.isVisible()


def test_the_title_of_an_item_can_be_read_in_the_smallest_window(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.resize(860, 560)
    window.show_page("subtasks")
    detail = window.pages.subtasks.view.detail
    qtbot.waitUntil(lambda: detail.title.text() == "Bergen")
    _wait_until_laid_out(window, qtbot)
    assert detail.title.width() >= detail.title.sizeHint().width()


def test_four_chats_side_by_side_have_room_in_the_smallest_window(
    window: MainWindow, qtbot: QtBot, conversations: "Conversations"
) -> None:
    window.resize(860, 560)
    for n in range(4):
        chat = conversations.create(title=f"Chat {n}")
        conversations.add_message(chat.id, "user", "What is it?")
        window.open_conversation(chat.id)
    window.pages.chats.tabs.tile_button.setChecked(True)
    _wait_until_laid_out(window, qtbot)
    assert (window.width(), window.height()) == (860, 560)


def test_the_page_does_not_jump_while_a_model_loads(
    qtbot: QtBot, window: MainWindow, service: EngineService, fake_client: FakeClient
) -> None:
    chooser, height = window.header.chooser, window.header.height()
    fake_client.held = True
    service.load(Path("/models/a.gguf"), EngineOptions())
    qtbot.waitUntil(chooser.bar.isVisible)
    for _ in range(8):
        qtbot.wait(10)
        assert window.header.height() == height


@pytest.mark.parametrize("tiled", [False, True])
def test_a_toast_covers_no_composer_in_the_smallest_window(
    window: MainWindow, qtbot: QtBot, conversations: "Conversations", tiled: bool
) -> None:
    window.resize(860, 560)
    for n in range(4 * tiled):
        window.open_conversation(conversations.create(title=f"Chat {n}").id)
    page = window.pages.chats
    window.show_page("chats")
    page.tabs.tile_button.setChecked(tiled)
    _wait_until_laid_out(window, qtbot)
    toast = Toast.show_over(page, "“A chat with a title” was deleted", "Undo")

    def covered() -> list[Composer]:
        composers = [each for each in window.findChildren(Composer) if each.isVisible()]
        assert len(composers) == (4 if tiled else 1)
        area = QRect(toast.mapToGlobal(QPoint()), toast.size())
        return [c for c in composers if area.intersects(QRect(c.mapToGlobal(QPoint()), c.size()))]

    assert toast.isVisible() and covered() == []
    view = page.tabs.current
    assert view is not None
    view.composer.set_text("a line\n" * 6)
    qtbot.waitUntil(lambda: covered() == [])
    assert window.rect().contains(toast.geometry())
