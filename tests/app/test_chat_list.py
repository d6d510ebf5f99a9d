"""The list of all chats, and what a search has found among them."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.data.conversation import Conversation
from app.data.conversations import Conversations


@pytest.fixture
def page(make_chat_page: Callable[[], ChatPage]) -> ChatPage:
    return make_chat_page()


def find(qtbot: QtBot, page: ChatPage, conversations: Conversations) -> Conversation:
    """One chat, found by its title."""
    made = conversations.create(title="Baking bread")
    page.list.search.setText("baking")
    qtbot.waitUntil(lambda: page.list.model.rowCount() == 1, timeout=5000)
    return made


def test_a_chat_deleted_from_what_a_search_found_leaves_it_until_it_is_restored(
    qtbot: QtBot, page: ChatPage, conversations: Conversations
) -> None:
    found = find(qtbot, page, conversations)
    page.list.view.setCurrentIndex(page.list.model.index(0))
    QTest.keyClick(page.list.view, Qt.Key.Key_Delete)
    assert page.list.model.rowCount() == 0
    QTest.keyClick(page.list.view, Qt.Key.Key_Delete)
    conversations.restore(found.id)
    assert page.list.model.row_of(found.id) == 0


def test_a_chat_that_a_search_found_shows_its_new_title(
    qtbot: QtBot, page: ChatPage, conversations: Conversations
) -> None:
    found = find(qtbot, page, conversations)
    conversations.rename(found.id, "Baking cakes")
    assert page.list.model.index(0).data() == "Baking cakes"


def test_a_title_that_is_edited_while_its_chat_goes_is_given_up(
    page: ChatPage, conversations: Conversations
) -> None:
    model = page.list.model
    made = conversations.create(title="Baking bread")
    index = model.index(model.row_of(made.id))
    model.hold(True)
    conversations.remove(made.id)
    assert not model.setData(index, "Baking cakes")
    model.hold(False)
    assert model.row_of(made.id) == -1
