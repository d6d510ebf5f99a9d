"""What tests do with a ChatPage: the chat that is shown, asking there, waiting for its reply."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.chat.chat_view import ChatView


def current(page: ChatPage) -> ChatView:
    view = page.tabs.current
    assert view is not None
    return view


def say(qtbot: QtBot, page: ChatPage, text: str) -> ChatView:
    view = current(page)
    view.composer.set_text(text)
    QTest.keyClick(view.composer.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: view.composer.text == "", timeout=5000)
    return view


def wait_done(qtbot: QtBot, view: ChatView, n_messages: int) -> None:
    qtbot.waitUntil(
        lambda: len(view.chat.messages) == n_messages and not view.chat.is_busy, timeout=10000
    )
