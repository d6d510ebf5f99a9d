"""The list of keys on the settings page is that of the window."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QLabel
from pytestqt.qtbot import QtBot

from app import folders
from app.data.conversations import Conversations
from app.engine_service import EngineService
from app.models.library import ModelLibrary
from app.settings.settings import Settings
from app.settings.shortcuts import PLACES
from app.settings.shortcuts_view import ShortcutsView
from app.shell.pages import PAGES
from app.theme.theme import Theme
from app.window import MainWindow

# Handled by the widget that has the focus, so there is no QShortcut to find.
BY_WIDGETS = {"Return", "Shift+Return", "Esc", "Space", "Left", "Right", "+", "-", "End"}


@pytest.fixture
def window(
    qtbot: QtBot,
    home: Path,
    service: EngineService,
    conversations: Conversations,
    settings: Settings,
    theme: Theme,
) -> Iterator[MainWindow]:
    library = ModelLibrary(folders.library())
    window = MainWindow(service, conversations, library, settings, theme)
    conversations.create(title="so that this is no first start")
    qtbot.addWidget(window)
    window.show()
    for page in PAGES:
        window.show_page(page.name)
    yield window
    window.close()
    library.close()
    settings.close()


def keys_of(text: str) -> str:
    return QKeySequence(text).toString()


def test_every_key_of_the_window_is_on_the_list_and_no_other(window: MainWindow) -> None:
    found = {key.key().toString() for key in window.findChildren(QShortcut)}
    found |= {button.shortcut().toString() for button in window.findChildren(QAbstractButton)}
    found.discard("")
    listed = {keys_of(k) for place in PLACES.values() for s in place for k in s.keys.split(" ")}
    assert found == listed - {keys_of(key) for key in BY_WIDGETS}


def test_the_list_says_which_key_sends(qtbot: QtBot, settings: Settings) -> None:
    view = ShortcutsView(settings)
    qtbot.addWidget(view)

    def shown() -> list[str]:
        return [label.text() for label in view.findChildren(QLabel)]

    assert shown().count("Ctrl+Return") == 1  # to run a task
    settings.set("send_with", "ctrl+enter")
    qtbot.waitUntil(lambda: shown().count("Ctrl+Return") == 2 and shown().count("Send") == 1)
    settings.close()
