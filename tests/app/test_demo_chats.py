"""One click opens four chats with the demo model that ships, its link paced and labelled."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.chat.row_actions import figures_of
from app.engine_service import EngineService
from app.shell.first_start import FirstStart
from app.widgets.empty_state import EmptyState
from app.window import MainWindow
from engine import demo_model as demo_models
from engine.cache_size import CacheSize
from engine.demo_model import DEMO_CACHE, DEMO_CHATS, DEMO_LINK, demo_model
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.request import Request
from tests.helpers.fake_client import FakeClient
from tests.helpers.fake_jobs import FakeJobs, model_info

if TYPE_CHECKING:
    from app.models.library import ModelLibrary
    from app.settings.settings import Settings

DENIALS: dict[str, Callable[[QMessageBox], None]] = {
    "cancelled": lambda box: box.escapeButton().click(),
    "closed": lambda box: box.reject(),
}


def open_chats_in_the_empty_chat(window: MainWindow) -> None:
    view = window.pages.chats.tabs.current
    assert view is not None
    view.findChild(EmptyState).second_button.click()


def test_one_click_leads_from_nothing_to_four_chats_that_are_answered_at_once(
    qtbot: QtBot, window: MainWindow, service: EngineService, library: "ModelLibrary"
) -> None:
    first = window.pages.get("chats")
    assert isinstance(first, FirstStart)
    assert first.isVisible()
    with qtbot.waitSignal(service.reply_started):
        first.state.button.click()
    assert [model.path for model in library.all()] == [demo_model()]
    assert window.header.chooser.title.text() == library.all()[0].title
    chats = window.pages.chats
    assert window.pages.get("chats") is chats
    assert chats.isVisible()
    qtbot.waitUntil(lambda: len(service.replies) == 4)
    views = [chats.tabs.view(id) for id in chats.tabs.ids]
    asked = [view.chat.messages[0].text for view in views if view is not None]
    assert asked == [questions[0] for questions in DEMO_CHATS]
    assert all(view is not None and view.isVisible() for view in views)


def test_the_demo_model_reads_over_a_paced_link_until_a_person_chooses_otherwise(
    qtbot: QtBot, window: MainWindow, service: EngineService, library: "ModelLibrary"
) -> None:
    window.opener.open_demo()
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    assert (service.link, service.cache) == (DEMO_LINK, DEMO_CACHE)
    assert "emulated" in window.status.reading.text()
    (demo,) = library.all()
    library.choose(demo.id, msgspec.structs.replace(demo.choices, link=LinkSpeed()))
    window.opener.open_demo()
    qtbot.waitUntil(lambda: not service.link.emulated)


def test_an_empty_chat_offers_the_demo_chats_to_those_without_a_model_of_their_own(
    qtbot: QtBot, window: MainWindow, service: EngineService, library: "ModelLibrary"
) -> None:
    view = window.pages.chats.tabs.current
    assert view is not None
    button = view.findChild(EmptyState).second_button
    assert not button.isHidden()
    service.load(Path("/models/a.gguf"), EngineOptions())
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    assert button.isHidden()
    window.opener.open_demo()
    qtbot.waitUntil(lambda: not button.isHidden())
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    button.click()
    qtbot.waitUntil(lambda: len(service.replies) == 4)


def test_a_load_of_the_demo_model_that_is_stopped_begins_no_chats_later(
    qtbot: QtBot, window: MainWindow, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.held = True
    window.demo_chats.start()
    qtbot.waitUntil(lambda: service.state.phase in ("starting", "loading"))
    service.unload()
    qtbot.waitUntil(lambda: service.state.phase == "stopped")
    fake_client.held = False
    window.opener.open_demo()
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    assert not service.replies


def test_a_demo_model_that_cannot_be_read_says_why(
    qtbot: QtBot, window: MainWindow, fake_jobs: FakeJobs
) -> None:
    fake_jobs.failures[str(demo_model())] = ("The file is damaged.", "Install Runahead again.")
    first = window.pages.get("chats")
    assert isinstance(first, FirstStart)
    first.state.button.click()
    qtbot.waitUntil(lambda: first.failure.isVisible())
    assert "The file is damaged. Install Runahead again." in first.failure.text()
    assert first.state.button.isEnabled()


@pytest.fixture
def missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_models, "_PLACES", (tmp_path / "demo.gguf",))


def test_a_missing_demo_model_is_told_of_once_at_the_first_start(
    window: MainWindow, missing: None
) -> None:
    first = window.pages.get("chats")
    assert isinstance(first, FirstStart)
    first.state.button.click()
    assert "missing" in first.failure.text()
    assert not window.banners.notices


def test_an_empty_chat_tells_that_the_demo_model_is_missing(
    qtbot: QtBot, window: MainWindow, library: "ModelLibrary", missing: None
) -> None:
    library.add(model_info(Path("/models/a.gguf")))
    open_chats_in_the_empty_chat(window)
    (banner,) = window.banners.notices
    assert banner.isVisible()
    assert "missing from this installation" in banner.text.text()


def test_an_empty_chat_tells_that_the_demo_model_is_damaged(
    qtbot: QtBot, window: MainWindow, library: "ModelLibrary", fake_jobs: FakeJobs
) -> None:
    fake_jobs.failures[str(demo_model())] = ("demo.gguf is truncated.", "Install Runahead again.")
    library.add(model_info(Path("/models/a.gguf")))
    open_chats_in_the_empty_chat(window)
    qtbot.waitUntil(lambda: bool(window.banners.notices))
    assert window.banners.notices[0].text.text() == (
        "demo.gguf is truncated. Install Runahead again."
    )


@pytest.mark.parametrize("denial", DENIALS)
def test_who_declines_to_load_the_demo_model_gets_no_chats_later_but_may_ask_again(
    qtbot: QtBot,
    window: MainWindow,
    service: EngineService,
    fake_client: FakeClient,
    denial: str,
) -> None:
    fake_client.become_ready()
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    fake_client.held = True
    reply = service.generate(Request(prompt="go on"))
    for _ in range(2):
        window.demo_chats.start()
        qtbot.waitUntil(lambda: bool(window.findChildren(QMessageBox)))
        DENIALS[denial](window.findChildren(QMessageBox)[0])
        qtbot.waitUntil(lambda: not window.findChildren(QMessageBox))
    reply.stop()
    fake_client.held = False
    qtbot.waitUntil(lambda: not reply.active)
    window.opener.open_demo()
    path = str(demo_model())
    qtbot.waitUntil(lambda: service.state.model is not None and service.state.model.path == path)
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    assert not service.replies
    window.demo_chats.start()
    qtbot.waitUntil(lambda: len(service.replies) == 4)


def test_the_link_that_is_chosen_for_the_demo_model_stays_its_own(
    qtbot: QtBot,
    window: MainWindow,
    service: EngineService,
    library: "ModelLibrary",
    settings: "Settings",
) -> None:
    window.opener.open_demo()
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    box = window.pages.monitor.run_card.link
    box.setCurrentIndex(box.findData("2 GB/s"))
    box.activated.emit(box.currentIndex())
    chosen = LinkSpeed.parse("2GB/s")
    assert service.link == chosen
    assert library.all()[0].choices.link == chosen
    assert settings.link == LinkSpeed()
    window.opener.open(library.add(model_info(Path("/models/a.gguf"))))
    qtbot.waitUntil(lambda: service.link == LinkSpeed())
    window.opener.open_demo()
    qtbot.waitUntil(lambda: service.link == chosen)


def test_the_cache_that_is_chosen_for_the_demo_model_stays_its_own(
    qtbot: QtBot,
    window: MainWindow,
    service: EngineService,
    library: "ModelLibrary",
    settings: "Settings",
) -> None:
    before = settings.cache
    window.opener.open_demo()
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    assert service.state.info is not None
    slider = window.pages.monitor.cache_card.slider
    slider.asked.emit(0.6 * service.state.info.experts_total_bytes)
    slider.show_size(int(0.6 * service.state.info.experts_total_bytes))
    chosen = CacheSize(fraction=0.6)
    qtbot.waitUntil(lambda: service.cache == chosen)
    qtbot.waitUntil(lambda: library.all()[0].choices.cache == chosen, timeout=10_000)
    assert settings.cache == before
    window.opener.open(library.add(model_info(Path("/models/a.gguf"))))
    qtbot.waitUntil(lambda: service.cache == before)
    window.opener.open_demo()
    qtbot.waitUntil(lambda: service.cache == chosen)


def test_settings_changed_while_the_demo_model_is_open_are_not_for_it(
    qtbot: QtBot, window: MainWindow, service: EngineService, settings: "Settings"
) -> None:
    window.opener.open_demo()
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    settings.set("cache_fraction", 0.55)
    settings.set("link", "2GB/s")
    assert (service.cache, service.link) == (DEMO_CACHE, DEMO_LINK)


def test_below_a_reply_over_a_paced_link_it_says_so_for_good(
    qtbot: QtBot, window: MainWindow, service: EngineService
) -> None:
    window.demo_chats.start()
    qtbot.waitUntil(lambda: len(service.replies) == 4)
    qtbot.waitUntil(lambda: not service.replies)
    service.set_link(LinkSpeed())
    views = [window.pages.chats.tabs.view(id) for id in window.pages.chats.tabs.ids]
    messages = [view.chat.messages[-1] for view in views if view is not None]
    assert len(messages) == 4
    for message in messages:
        assert f"link {DEMO_LINK} (emulated)" in figures_of(message)
