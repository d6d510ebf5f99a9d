"""Every test has its own data folder, a fake engine, and real models of the app over them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from app.theme.theme import Theme
from app.window import MainWindow
from tests.helpers.app_fixtures import *  # noqa: F403, pytest finds fixtures by their names here
from tests.helpers.fake_client import FakeClient
from tests.helpers.fake_jobs import FakeJobs

if TYPE_CHECKING:
    from app.chat.chat_page import ChatPage
    from app.data.conversations import Conversations
    from app.models.library import ModelLibrary
    from app.settings.settings import Settings


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    """Light, and not given to the application: a sheet for all widgets would slow tests down."""
    return Theme("light")


@pytest.fixture
def dressed(qapp: QApplication) -> Iterator[Theme]:
    """The app with its style sheet, until the test ends."""
    style, font, palette = qapp.style().name(), qapp.font(), qapp.palette()
    theme = Theme("light")
    theme.dress(qapp)
    yield theme
    qapp.setStyleSheet("")
    qapp.setStyle(style)
    qapp.setFont(font)
    qapp.setPalette(palette)


@pytest.fixture
def fake_client() -> FakeClient:
    return FakeClient()


@pytest.fixture
def fake_jobs() -> FakeJobs:
    return FakeJobs()


@pytest.fixture
def service(
    qapp: QApplication, fake_client: FakeClient, fake_jobs: FakeJobs
) -> Iterator[EngineService]:
    service = EngineService(fake_client, fake_jobs)
    yield service
    service.close()


@pytest.fixture
def settings(qapp: QApplication, home: Path) -> "Iterator[Settings]":
    from app.settings.settings import Settings

    settings = Settings(home / "settings.json")
    yield settings
    settings.close()


@pytest.fixture
def conversations(qapp: QApplication, home: Path) -> "Iterator[Conversations]":
    from app.data.conversations import Conversations

    conversations = Conversations(home / "conversations.sqlite")
    yield conversations
    conversations.close()


@pytest.fixture
def library(qapp: QApplication, home: Path) -> "Iterator[ModelLibrary]":
    from app.models.library import ModelLibrary

    library = ModelLibrary(home / "models.json")
    yield library
    library.close()


@pytest.fixture
def open_window(
    qtbot: QtBot,
    service: EngineService,
    conversations: "Conversations",
    library: "ModelLibrary",
    settings: "Settings",
    theme: Theme,
) -> Iterator[Callable[[], MainWindow]]:
    opened: list[MainWindow] = []

    def open_one() -> MainWindow:
        window = MainWindow(service, conversations, library, settings, theme)
        opened.append(window)
        window.show()
        qtbot.waitExposed(window)
        return window

    yield open_one
    for window in opened:
        window.close()
        window.deleteLater()
    QApplication.sendPostedEvents()


@pytest.fixture
def window(open_window: Callable[[], MainWindow]) -> MainWindow:
    return open_window()


@pytest.fixture
def make_chat_page(
    qtbot: QtBot,
    service: EngineService,
    conversations: "Conversations",
    settings: "Settings",
    theme: Theme,
    fake_client: FakeClient,
) -> "Iterator[Callable[[], ChatPage]]":
    """Makes pages of chats over one database, a model loaded."""
    from app.chat.chat_page import ChatPage

    fake_client.become_ready()

    def make() -> ChatPage:
        page = ChatPage(service, conversations, settings, theme)
        qtbot.addWidget(page)
        page.resize(1100, 700)
        page.show()
        qtbot.waitExposed(page)
        return page

    yield make
    settings.close()
