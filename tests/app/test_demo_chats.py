"""One click opens four chats with the demo model that ships, its link paced and labelled."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from app.shell.first_start import FirstStart
from app.widgets.empty_state import EmptyState
from app.window import MainWindow
from engine.demo_model import DEMO_CACHE, DEMO_CHATS, DEMO_LINK, demo_model
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from tests.helpers.fake_client import FakeClient
from tests.helpers.fake_jobs import FakeJobs

if TYPE_CHECKING:
    from app.models.library import ModelLibrary


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
