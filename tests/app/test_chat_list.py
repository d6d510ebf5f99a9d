"""The list of all chats, and what a search has found among them."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.chat.conversation_model import HEADER_ROLE
from app.data.conversation import Conversation
from app.data.conversations import Conversations
from app.data.data_error import damaged
from app.widgets.toast import Toast


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


def test_the_newest_chat_moves_to_today_when_it_is_used_again(
    page: ChatPage, conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = page.list.model
    made = conversations.create(title="Baking bread")
    row = model.row_of(made.id)
    tomorrow = time.time() + 24 * 3600
    monkeypatch.setattr(time, "time", lambda: tomorrow)
    conversations.update(made.id, draft="And")
    conversations.add_message(made.id, "user", "And cakes?")
    assert model.row_of(made.id) == row == 1
    headings = [
        model.index(n).data() for n in range(model.rowCount()) if model.index(n).data(HEADER_ROLE)
    ]
    assert headings == ["Today", "Yesterday"]


def test_an_export_that_fails_leaves_what_was_there(
    page: ChatPage, conversations: Conversations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    made = conversations.create(title="Baking bread")
    file = tmp_path / "chat.md"
    file.write_text("What was exported before")
    monkeypatch.setattr(os, "fsync", full)
    page.list.export(made.id, file)
    assert file.read_text() == "What was exported before"
    toast = page.findChild(Toast)
    assert toast is not None and "No space left" in toast.text.text()


def test_a_damaged_chat_that_is_to_be_copied_or_exported_is_told(
    page: ChatPage, conversations: Conversations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged_path(conversation_id: str) -> None:
        raise damaged(conversations.store.path, "torn")

    told: list[str] = []
    conversations.failed.connect(told.append)
    made = conversations.create(title="Baking bread")
    monkeypatch.setattr(conversations, "path", damaged_path)
    page.list.duplicate(made.id)
    page.list.export(made.id, tmp_path / "chat.md")
    assert len(told) == 2 and all("torn" in each for each in told)
    assert list(tmp_path.glob("*.md")) == []


def test_what_tasks_do_costs_the_list_nothing(
    page: ChatPage, conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations.create(title="Baking bread")
    read: list[str] = []

    def read_all(_: Conversations, kind: str = "chat") -> list[Conversation]:
        read.append(kind)
        return []

    monkeypatch.setattr(Conversations, "all", read_all)
    item = conversations.create(title="Rome", kind="subtask")
    conversations.add_message(item.id, "user", "Tell me of Rome")
    conversations.remove(item.id)
    conversations.restore(item.id)
    assert read == []  # a task of thousands of items would read all chats as often
