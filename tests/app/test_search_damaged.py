"""A search in a file that a disk has damaged: what can be read is found, the rest is told."""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.data.conversation import SearchHit
from app.data.conversations import Conversations
from app.data.search_hits import UNREADABLE
from app.data.searcher import Found, Rows

PAGE = 4096
N_CHATS = 8


@pytest.fixture
def path(qapp: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Chats with a long message each, in a file as large as those that no start checks."""
    monkeypatch.setattr("app.data.database._MOST_CHECKED_BYTES", 0)
    path = tmp_path / "c.sqlite"
    conversations = Conversations(path)
    for n in range(N_CHATS):
        chat = conversations.create(title=f"chat {n}")
        conversations.add_message(chat.id, "user", f"needle no {n} " + f"hay{n} " * 4000)
    conversations.close()
    return path


def damage(path: Path, *, row: bool) -> None:
    """Of chat 3: the row of its message, or only where the rest of a long text lies."""
    data = bytearray(path.read_bytes())
    first = data.index(b"needle no 3 ") // PAGE * PAGE
    if row:
        data[first : first + PAGE] = b"\xff" * PAGE
    else:
        for at in range(PAGE, len(data), PAGE):
            if data[at + 100 : at + PAGE].count(b"hay3 ") > 700:
                data[at : at + 4] = b"\x7f\xff\xff\xff"  # the next piece lies nowhere
    path.write_bytes(data)


def searched(qtbot: QtBot, conversations: Conversations, text: str) -> tuple[list[SearchHit], str]:
    answers: list[tuple[list[SearchHit], str]] = []
    conversations.search_later(text, lambda *answer: answers.append(answer))
    qtbot.waitUntil(lambda: bool(answers), timeout=5000)
    return answers[0]


@pytest.mark.parametrize("text", ["needle", "no", "needle no"])
def test_a_row_that_is_damaged_costs_the_other_hits_nothing(
    qtbot: QtBot, path: Path, text: str
) -> None:
    damage(path, row=True)
    conversations = Conversations(path)
    hits, why = searched(qtbot, conversations, text)
    assert {hit.conversation.title for hit in hits} == {
        f"chat {n}" for n in range(N_CHATS) if n != 3 or text == "needle"
    }
    assert all("needle" in hit.snippet for hit in hits if hit.conversation.title != "chat 3")
    assert "malformed" in why
    conversations.close()


def test_a_text_that_cannot_be_read_is_a_hit_that_says_so(qtbot: QtBot, path: Path) -> None:
    damage(path, row=False)
    conversations = Conversations(path)
    hits, _ = searched(qtbot, conversations, "needle")
    snippets = {hit.conversation.title: hit.snippet for hit in hits}
    assert len(snippets) == N_CHATS
    assert snippets.pop("chat 3") == UNREADABLE
    assert all("needle" in snippet for snippet in snippets.values())
    conversations.close()


def test_the_list_says_that_not_everything_was_searched(
    qtbot: QtBot, make_chat_page: Callable[[], ChatPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = make_chat_page()
    monkeypatch.setattr(
        "app.data.searcher._BY_INDEX", "SELECT 1 FROM message_search WHERE gone = ?{and_short}"
    )
    page.list.search.setText("needle")
    qtbot.waitUntil(lambda: page.list._nothing.isVisibleTo(page.list), timeout=5000)
    assert page.list._nothing.text().startswith("Not all chats could be searched: no such column")


@pytest.mark.parametrize("how", ["close", "search"])
def test_a_search_in_pieces_ends_when_nobody_waits_for_it(
    qtbot: QtBot, conversations: Conversations, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    began = threading.Event()
    n_read: list[int] = []

    def find(rows: Rows, text: str) -> Found:
        if text == "next":
            return []
        raise sqlite3.DatabaseError("malformed")

    def find_readable(rows: Rows, text: str) -> Found:
        for n in range(300):
            rows("SELECT 1", [])
            n_read.append(n)
            began.set()
            time.sleep(0.01)  # between two statements, where sqlite3 hears of no interruption
        return []

    monkeypatch.setattr("app.data.searcher.find", find)
    monkeypatch.setattr("app.data.searcher.find_readable", find_readable)
    conversations.search_later("first", lambda *_: None)
    assert began.wait(5)
    if how == "close":
        conversations.store.searcher.close()
    else:
        assert searched(qtbot, conversations, "next") == ([], "")
    assert len(n_read) < 300
