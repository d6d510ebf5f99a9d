"""The window: pages by mouse and keyboard, what it remembers, and what it says about the engine."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QTabBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from app.shell.model_menu import MANY, ModelMenu
from app.theme.theme import Theme
from app.widgets.toast import Toast
from app.window import MainWindow
from engine.cache_size import CacheSize
from engine.options import EngineOptions
from engine.request import Message, Request
from tests.helpers.fake_client import FakeClient
from tests.helpers.fake_jobs import FakeJobs, model_info

if TYPE_CHECKING:
    from app.data.conversations import Conversations
    from app.models.library import ModelLibrary
    from app.settings.settings import Settings

NAMES = ["chats", "subtasks", "monitor", "models", "runs", "settings"]
HELLO = Request(messages=(Message("user", "Hello"),))


def test_every_page_opens_by_its_button_and_by_its_key(window: MainWindow) -> None:
    for name in NAMES:
        window.rail.buttons[name].click()
        assert window.page == name
        assert window.pages.get(name).isVisible()
    for number, name in enumerate(NAMES, 1):
        QTest.keyClick(window, Qt.Key(Qt.Key.Key_0 + number), Qt.KeyboardModifier.ControlModifier)
        assert window.page == name
        assert window.rail.buttons[name].isChecked()


def test_every_icon_button_says_what_it_does(window: MainWindow) -> None:
    for name in NAMES:
        window.show_page(name)
    for button in window.findChildren(QToolButton):
        if isinstance(button.parent(), QLineEdit | QTabBar):
            continue  # Qt's own
        assert button.accessibleName() or button.text(), button.toolTip()


def test_the_monitor_goes_beside_any_page_and_is_there_only_once(window: MainWindow) -> None:
    window.show_page("chats")
    window.header.dock_button.click()
    monitor = window.pages.monitor
    assert window.area.dock.isVisible()
    assert window.area.dock.isAncestorOf(monitor)
    window.show_page("monitor")
    assert not window.area.dock.isVisible()
    assert monitor.isVisible()
    assert not window.area.dock.isAncestorOf(monitor)
    window.show_page("models")
    assert window.area.dock.isAncestorOf(monitor)
    assert monitor.isVisible()
    window.header.dock_button.click()
    assert not window.area.dock.isVisible()


def test_page_dock_and_size_are_remembered(open_window: Callable[[], MainWindow]) -> None:
    first = open_window()
    first.resize(900, 640)
    first.show_page("runs")
    first.show_dock(True)
    first.close()
    second = open_window()
    assert second.page == "runs"
    assert second.area.dock.isVisible()
    assert second.height() == 640


def test_a_crashed_engine_is_told_and_restarted_by_the_banner(
    qtbot: QtBot, window: MainWindow, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    qtbot.waitUntil(lambda: window.header.chooser.unload_button.isVisible())
    assert not window.banners.isVisible()
    fake_client.crash()
    qtbot.waitUntil(lambda: window.banners.failure.isVisible())
    assert "ran out of memory" in window.banners.failure.text.text()
    window.banners.failure.button.click()
    qtbot.waitUntil(lambda: fake_client.state.phase == "ready")
    qtbot.waitUntil(lambda: not window.banners.isVisible())


def test_a_load_that_fails_says_why_and_can_be_tried_again(
    qtbot: QtBot, window: MainWindow, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.load_error = ("a.gguf is truncated.", "Download it again.")
    fake_client.load(Path("/models/a.gguf"), service_options(service))
    qtbot.waitUntil(lambda: window.banners.failure.isVisible())
    assert window.banners.failure.text.text() == "a.gguf is truncated. Download it again."
    fake_client.load_error = None
    window.banners.failure.button.click()
    qtbot.waitUntil(lambda: fake_client.state.phase == "ready")


def test_loading_can_be_stopped_in_the_header(
    qtbot: QtBot, window: MainWindow, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.held = True
    service.load(Path("/models/a.gguf"), service_options(service))
    qtbot.waitUntil(lambda: window.header.chooser.cancel_button.isVisible())
    assert window.status.bar.isVisible()
    window.header.chooser.cancel_button.click()
    qtbot.waitUntil(lambda: not window.header.chooser.cancel_button.isVisible())
    assert service.state.phase == "stopped"


def test_a_notice_is_told_once_until_it_is_dismissed(
    qtbot: QtBot, window: MainWindow, fake_client: FakeClient
) -> None:
    for _ in range(3):
        fake_client.notice("The cache is smaller than asked for.")
    fake_client.notice("Another.")
    qtbot.waitUntil(lambda: len(shown_notices(window)) == 2)
    fake_client.notice("A third pushes the oldest out.")
    qtbot.waitUntil(lambda: "A third pushes the oldest out." in shown_notices(window))
    assert shown_notices(window) == ["Another.", "A third pushes the oldest out."]
    for banner in window.banners.notices:
        banner.close_button.click()
    assert not window.banners.isVisible()


def test_the_chooser_loads_by_keyboard(
    qtbot: QtBot, window: MainWindow, library: "ModelLibrary", fake_client: FakeClient
) -> None:
    for name in ("a", "b"):
        library.add(model_info(Path(f"/models/{name}.gguf")))
    window.header.chooser.open_menu()
    menu = window.findChild(ModelMenu)
    assert menu is not None
    for row in range(menu.list.count()):  # their files do not exist here
        menu.list.item(row).setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
    QTest.keyClick(menu.list, Qt.Key.Key_Down)
    QTest.keyClick(menu.list, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: fake_client.state.phase == "ready")
    assert fake_client.state.model is not None
    assert fake_client.state.model.path == "/models/b.gguf"
    assert window.opener.last_model == library.by_path(Path("/models/b.gguf"))


def test_enter_among_models_opens_none_that_is_missing(
    window: MainWindow, library: "ModelLibrary", fake_client: FakeClient
) -> None:
    for n in range(MANY):
        library.add(model_info(Path(f"/models/{n}.gguf")))
    window.header.chooser.open_menu()
    menu = window.findChild(ModelMenu)
    assert menu is not None and menu.search.isVisible()
    for row in range(menu.list.count()):  # as when it is known that their files do not exist
        menu.list.item(row).setFlags(Qt.ItemFlag.NoItemFlags)
    QTest.keyClick(menu.search, Qt.Key.Key_Return)
    assert menu.isVisible() and fake_client.calls == []
    menu.close()


def test_a_model_dropped_anywhere_goes_to_the_page_of_models(
    qtbot: QtBot, window: MainWindow, fake_jobs: FakeJobs, tmp_path: Path
) -> None:
    model = tmp_path / "some.gguf"
    model.write_bytes(b"GGUF")
    drag_over_and_drop(window, [model])
    assert window.page == "models"
    qtbot.waitUntil(lambda: ("inspect", str(model)) in fake_jobs.calls)


def test_a_model_dragged_over_what_is_being_written_is_for_the_window(window: MainWindow) -> None:
    window.open_conversation(window.pages.conversations.create().id)
    view = window.pages.chats.tabs.current
    assert view is not None
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/models/some.gguf")])
    place, action = QPointF(9, 9), Qt.DropAction.CopyAction
    button, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    field = view.composer.field
    QApplication.sendEvent(field.viewport(), QDragEnterEvent(place, action, data, button, keys))
    overlay = window.findChild(QWidget, "dropTarget")
    assert overlay is not None and overlay.isVisible()
    data.setUrls([QUrl("https://example.org")])
    assert field.canInsertFromMimeData(data)


def test_other_files_are_not_taken(window: MainWindow, tmp_path: Path) -> None:
    window.show_page("chats")
    drag_over_and_drop(window, [tmp_path / "letter.txt"])
    assert window.page == "chats"


def test_theme_and_font_size_follow_the_settings_at_once(
    window: MainWindow, settings: "Settings", theme: Theme
) -> None:
    settings.set("theme", "dark")
    assert theme.is_dark
    settings.set("font_size", 14)
    assert theme.font_size == 14


def test_a_policy_that_the_engine_refuses_does_not_stay_in_the_settings(
    qtbot: QtBot, window: MainWindow, settings: "Settings", fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    settings.set("policy", "specmd")
    settings.set("policy", "bevvy")
    qtbot.waitUntil(lambda: settings.get("policy") == "specmd")


def test_live_settings_reach_the_engine(
    qtbot: QtBot, window: MainWindow, settings: "Settings", fake_client: FakeClient
) -> None:
    settings.set("policy", "lockstep-lfu")
    assert not [call for call in fake_client.calls if call[0] == "set_policy"]
    fake_client.become_ready()
    settings.set("cache_fraction", 0.5)
    settings.set("policy", "bevy+prefetch")
    settings.set("link", "2GB/s")
    assert ("set_cache_size", CacheSize(fraction=0.5)) in fake_client.calls
    assert ("set_policy", "bevy+prefetch", False) in fake_client.calls
    assert fake_client.calls[-1][0] == "set_link"


def test_a_chat_offers_the_last_model_by_the_name_that_the_chooser_has_for_it(
    qtbot: QtBot,
    open_window: Callable[[], MainWindow],
    library: "ModelLibrary",
    settings: "Settings",
    fake_client: FakeClient,
    tmp_path: Path,
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    info = msgspec.structs.replace(model_info(tmp_path / "m.gguf"), name="A Name of Its Own")
    library.add(info)
    settings.set("last_model", info.path)
    window = open_window()
    window.show_page("chats")
    view = window.pages.chats.tabs.current
    assert view is not None
    view.chat.send("A question")
    qtbot.waitUntil(view.banner.isVisible)
    assert view.banner.button.text() == "Load A Name of Its Own"
    view.banner.button.click()
    loaded = [call for call in fake_client.calls if call[0] == "load"]
    assert [str(call[1]) for call in loaded] == [info.path]


def test_the_strip_shows_speed_hits_and_cache_while_replies_stream(
    qtbot: QtBot, window: MainWindow, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    fake_client.reply = lambda request: "word " * 400
    replies = [service.generate(HELLO) for _ in range(4)]
    qtbot.waitUntil(lambda: window.status.speed.text().endswith("tok/s"), timeout=8000)
    assert window.status.hits.text().endswith("%")
    assert window.status.cache.text().endswith("GB")
    assert window.rail.buttons["monitor"].busy
    for reply in replies:
        reply.stop()
    qtbot.waitUntil(lambda: not window.rail.buttons["monitor"].busy)


def test_the_strip_knows_no_hits_of_a_model_that_has_just_been_loaded(
    qtbot: QtBot, window: MainWindow, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    reply = service.generate(HELLO)
    qtbot.waitUntil(lambda: window.status.hits.text().endswith("%"), timeout=8000)
    reply.stop()
    qtbot.waitUntil(lambda: not window.rail.buttons["monitor"].busy)
    fake_client.become_ready("/models/other.gguf")
    qtbot.waitUntil(lambda: window.status.phase.text().startswith("other"))
    assert window.status.hits.text() == "–"


def test_closing_ends_replies_without_a_question_and_keeps_their_text(
    qtbot: QtBot, window: MainWindow, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    reply = service.generate(HELLO)
    qtbot.waitUntil(lambda: reply.n_tokens > 2)
    with qtbot.waitSignal(window.closed):
        window.close()
    assert reply.result is not None
    assert reply.result.reason == "cancelled"
    assert reply.text
    assert fake_client.closed


def test_a_crash_report_is_told_with_its_folder(window: MainWindow, home: Path) -> None:
    window.tell_of_report(str(home / "crash-reports" / "crash-1.txt"))
    toast = window.findChild(Toast)
    assert toast is not None
    assert toast.isVisible()
    assert toast.button.text() == "Open folder"


def test_an_unreadable_memory_of_the_window_means_the_defaults(
    open_window: Callable[[], MainWindow], settings: "Settings"
) -> None:
    settings.set("window_state", "{broken")
    settings.set("window_geometry", "no base64 ±")
    settings.set("last_page", "gone")
    window = open_window()
    assert window.page == "chats"
    assert not window.area.dock.isVisible()


def service_options(service: EngineService) -> EngineOptions:
    return service.state.options or EngineOptions()


def shown_notices(window: MainWindow) -> list[str]:
    return [b.title.text() for b in window.banners.notices if b.isVisible()]


def drag_over_and_drop(window: MainWindow, files: list[Path]) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in files])
    place, action = QPointF(300, 300), Qt.DropAction.CopyAction
    button, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(place, action, data, button, keys)
    QApplication.sendEvent(window, enter)
    if enter.isAccepted():
        QApplication.sendEvent(window, QDropEvent(place, action, data, button, keys))


def test_a_task_item_opened_as_a_chat_is_stopped_by_esc_and_says_why_nothing_is_sent(
    window: MainWindow, fake_client: FakeClient, qtbot: QtBot
) -> None:
    fake_client.become_ready()
    fake_client.held = True
    window.show_page("subtasks")
    page = window.pages.subtasks
    page.form.task.setPlainText("Tell me of {item}")
    page.form.items.setPlainText("Rome\nParis")
    page.form.run_button.click()
    run = page.runs.all()[0]
    qtbot.waitUntil(lambda: len(fake_client.requests) == 2)
    page.view.detail.open_button.click()
    assert window.page == "chats"
    view = window.pages.chats.tabs.current
    assert view is not None
    assert view.isVisible()
    assert view.composer.button.toolTip() == "Stop (Esc)"
    view.composer.set_text("And Naples?")
    QTest.keyClick(view.composer.field, Qt.Key.Key_Return)
    assert view.banner.isVisible()
    assert view.composer.text == "And Naples?"
    QTest.keyClick(view, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: run.items[0].state == "stopped")
    assert run.items[1].state == "running"
    assert not view.banner.isVisible()
    assert view.composer.button.toolTip() == "Send"
    fake_client.held = False
    qtbot.waitUntil(lambda: run.items[1].state == "done")
    view.composer.button.click()
    qtbot.waitUntil(lambda: len(view.chat.messages) == 4 and not view.chat.is_busy)
    assert view.chat.messages[-2].text == "And Naples?"


def test_what_could_not_be_saved_is_no_longer_told_once_it_is(
    window: MainWindow, conversations: "Conversations", qtbot: QtBot
) -> None:
    store = conversations.store
    store.writer.connection.execute("PRAGMA max_page_count = 1")
    conversations.create(title="x" * 100_000)
    qtbot.waitUntil(lambda: any(notice.isVisible() for notice in window.banners.notices))
    store.writer.connection.execute("PRAGMA max_page_count = 1000000")
    conversations.flush()
    assert store.idle
    assert not any(notice.isVisible() for notice in window.banners.notices)
