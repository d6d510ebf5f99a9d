"""The page under strain: chats that cannot be read, and more text than a person writes."""

import time

import pytest
from PySide6.QtGui import QGuiApplication

from app.chat.chat_page import ChatPage
from app.data.conversations import Conversations
from app.engine_service import EngineService
from app.settings.settings import Settings
from app.theme.theme import Theme
from tests.helpers.chat_pages import current


@pytest.fixture
def page(
    service: EngineService, conversations: Conversations, settings: Settings, theme: Theme
) -> ChatPage:
    page = ChatPage(service, conversations, settings, theme)
    page.show()
    return page


def test_a_long_paste_is_there_at_once_whole_and_is_undone_at_once(page: ChatPage) -> None:
    field = current(page).composer.field
    text = "    value = f(x) + 1  # a line\n" * 5_000
    QGuiApplication.clipboard().setText(text)
    field.setPlainText("before ")
    field.moveCursor(field.textCursor().MoveOperation.End)
    begun = time.perf_counter()
    field.paste()
    assert time.perf_counter() - begun < 1
    assert field.toPlainText() == "before " + text
    field.undo()
    assert field.toPlainText() == "before "


def test_a_chat_that_cannot_be_read_keeps_no_other_from_opening(
    service: EngineService, conversations: Conversations, settings: Settings, theme: Theme
) -> None:
    good, bad = conversations.create(title="Good"), conversations.create(title="Bad")
    conversations.add_message(good.id, "user", "Fine")
    conversations.add_message(bad.id, "user", "Lost")
    conversations.store.write("UPDATE message SET parent = id WHERE text = 'Lost'", ())
    conversations.flush()
    conversations._forget(bad.id)  # as after another start
    settings.set("open_chats", [bad.id, good.id])
    settings.set("current_chat", bad.id)
    told: list[str] = []
    conversations.failed.connect(told.append)
    page = ChatPage(service, conversations, settings, theme)
    assert page.tabs.ids == [good.id]
    assert len(told) == 1
    assert "damaged" in told[0]
