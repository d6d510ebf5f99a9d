"""How full the context is, and how a chat goes on that no longer fits."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.chat.chat_view import ChatView
from app.chat.room import latest_turns
from app.data.conversation import Message
from app.data.conversations import Conversations
from tests.helpers.chat_pages import current, say, wait_done
from tests.helpers.fake_client import REPLY, FakeClient


@pytest.fixture
def page(make_chat_page: Callable[[], ChatPage]) -> ChatPage:
    return make_chat_page()


def test_the_meter_counts_the_chat_and_what_is_being_written(qtbot: QtBot, page: ChatPage) -> None:
    view = say(qtbot, page, "one two three")
    wait_done(qtbot, view, 2)
    meter = view.composer.meter
    n_reply = len(REPLY.split())
    qtbot.waitUntil(lambda: meter.n_tokens == 4 + 3 + 4 + n_reply, timeout=5000)
    view.composer.set_text("four more words here")
    qtbot.waitUntil(lambda: meter.n_tokens == 4 + 3 + 4 + n_reply + 8, timeout=5000)
    assert meter.context == 8192


def test_a_draft_is_counted_by_whatever_model_is_loaded_after_it_was_written(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_client.unload()
    view = current(page)
    qtbot.waitUntil(lambda: view.composer.meter.context == 0, timeout=5000)
    view.composer.set_text("four more words here")
    fake_client.become_ready()
    qtbot.waitUntil(lambda: view.composer.meter.n_tokens == 4 + 4, timeout=5000)
    count = fake_client.count_tokens
    monkeypatch.setattr(fake_client, "count_tokens", lambda turns: count([*turns, *turns]))
    fake_client.become_ready("/models/other.gguf")
    qtbot.waitUntil(lambda: view.composer.meter.n_tokens == 2 * (4 + 4), timeout=5000)


def test_the_meter_follows_a_reply_that_streams_and_nobody_counts_its_tokens(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.chat.context_counter.TELL_EVERY_S", 0.0)
    fake_client.reply = lambda request: "word " * 4000
    view = say(qtbot, page, "one two three")
    chat, meter = view.chat, view.composer.meter
    qtbot.waitUntil(lambda: chat.n_streamed > 24, timeout=5000)  # what the fake engine prefills
    counted: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(fake_client, "count_tokens", counted.append)
        qtbot.waitUntil(lambda: chat.n_streamed > 40 and meter.n_tokens > 40, timeout=5000)
        assert chat.reply is not None and meter.n_tokens <= 24 + chat.reply.n_tokens
    assert counted == []
    chat.stop()
    wait_done(qtbot, view, 2)


def test_a_question_counts_before_the_engine_has_begun_with_it(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient
) -> None:
    fake_client.held = True
    view = current(page)
    view.chat.send("one two three")
    qtbot.waitUntil(lambda: view.composer.meter.n_tokens == 4 + 3, timeout=5000)
    assert view.chat.n_streamed == 0
    view.chat.stop()


def test_while_a_model_loads_no_chat_is_read_to_be_counted(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = say(qtbot, page, "one two three")
    wait_done(qtbot, view, 2)
    read: list[bool] = []
    monkeypatch.setattr(view.chat, "turns", lambda: read.append(True) or ())
    fake_client.held = True
    fake_client.restart()
    qtbot.waitUntil(lambda: view.composer.meter.context == 0, timeout=5000)
    assert read == []


def fill(qtbot: QtBot, page: ChatPage, conversations: Conversations) -> ChatView:
    """A chat whose next question no longer fits."""
    made = conversations.create(title="Long")
    for n in range(10):
        conversations.add_message(made.id, "user", f"q{n} " + "word " * 400)
        conversations.add_message(made.id, "assistant", f"a{n} " + "word " * 400)
    page.open_conversation(made.id)
    view = current(page)
    view.composer.set_text("And now? " + "word " * 300)
    QTest.keyClick(view.composer.field, Qt.Key.Key_Return)
    qtbot.waitUntil(view.room.isVisible, timeout=5000)
    return view


def test_a_full_context_asks_and_goes_on_with_the_latest_turns(
    qtbot: QtBot, page: ChatPage, conversations: Conversations, fake_client: FakeClient
) -> None:
    old = fill(qtbot, page, conversations)
    assert fake_client.requests == {}
    old.room.findChild(QPushButton, "trim").click()
    new = current(page)
    assert new is not old
    qtbot.waitUntil(lambda: bool(fake_client.requests) and not new.chat.is_busy, timeout=10000)
    (request,) = fake_client.requests.values()
    assert request.messages[0].role == "user"
    assert request.messages[-1].content.startswith("And now?")
    assert 3 <= len(request.messages) < 12
    assert len(old.chat.messages) == 21


def test_a_full_context_asks_and_goes_on_with_a_summary(
    qtbot: QtBot, page: ChatPage, conversations: Conversations, fake_client: FakeClient
) -> None:
    fake_client.reply = lambda request: (
        "The summary." if "Sum up" in request.messages[-1].content else "The answer."
    )
    old = fill(qtbot, page, conversations)
    old.room.findChild(QPushButton, "summary").click()
    new = current(page)
    qtbot.waitUntil(lambda: len(new.chat.messages) == 4 and not new.chat.is_busy, timeout=10000)
    texts = [each.text for each in new.chat.messages]
    assert texts[0].startswith("Sum up")
    assert texts[1] == "The summary."
    assert texts[2].startswith("And now?")
    assert texts[3] == "The answer."
    last = list(fake_client.requests.values())[-1].messages
    assert [turn.content for turn in last][1] == "The summary."


def test_without_a_summary_the_question_is_not_sent_and_the_person_hears_of_it(
    qtbot: QtBot, page: ChatPage, conversations: Conversations, fake_client: FakeClient
) -> None:
    old = fill(qtbot, page, conversations)
    fake_client.reply = lambda request: "word " * 500
    old.room.findChild(QPushButton, "summary").click()
    new = current(page)
    qtbot.waitUntil(lambda: new.chat.is_streaming, timeout=5000)
    new.chat.stop()
    wait_done(qtbot, new, 2)
    assert new.chat.messages[1].state == "stopped"
    assert "And now?" in new.banner.text.text()
    assert len(fake_client.requests) == 1


def test_what_is_too_long_to_sum_up_is_told_and_the_new_chat_can_be_used(
    qtbot: QtBot, page: ChatPage, conversations: Conversations, fake_client: FakeClient
) -> None:
    made = conversations.create(title="Long")
    for n in range(10):  # few tokens in many characters, then the other way round
        conversations.add_message(made.id, "user", f"q{n}" + "x" * (40_000 if n < 4 else 1))
        conversations.add_message(made.id, "assistant", "a " * (4 if n < 4 else 1360))
    page.open_conversation(made.id)
    view = current(page)
    view.chat.send("And now? " + "word " * 300)
    qtbot.waitUntil(view.room.isVisible, timeout=5000)
    view.room.findChild(QPushButton, "summary").click()
    new = current(page)
    qtbot.waitUntil(lambda: len(new.chat.messages) == 1 and not new.chat.is_busy, timeout=5000)
    assert "And now?" in new.banner.text.text() and not new.room.isVisible()
    assert fake_client.requests == {}
    say(qtbot, page, "Something short")
    wait_done(qtbot, new, 3)


def test_what_a_model_has_thought_does_not_count_among_the_latest_turns() -> None:
    def message(role: str, text: str) -> Message:
        return Message(id=text[:2] + role, conversation="c", role=role, text=text)

    thought = [message("user", "q" * 10), message("assistant", f"<think>{'t' * 900}</think>aa")]
    path = [*thought, *[message("user", "u" * 100), message("assistant", "a" * 100)] * 4]
    latest = latest_turns([*path, message("user", "u" * 100)], 912, 500)
    assert len(latest) == 5


def test_the_choice_of_how_to_go_on_goes_with_the_question_that_it_is_about(
    qtbot: QtBot, page: ChatPage, conversations: Conversations
) -> None:
    view = fill(qtbot, page, conversations)
    view.chat.remove_message(view.chat.messages[-1].id)
    assert not view.room.isVisible()


def test_a_chat_deleted_while_its_summary_ends_asks_no_more(
    qtbot: QtBot,
    page: ChatPage,
    conversations: Conversations,
    fake_client: FakeClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fake_client, "cancel", lambda request: None)  # it comes too late
    old = fill(qtbot, page, conversations)
    fake_client.held = True
    old.room.findChild(QPushButton, "summary").click()
    chat = current(page).chat
    qtbot.waitUntil(lambda: chat.reply is not None, timeout=5000)
    conversations.remove(chat.id)
    fake_client.held = False
    qtbot.waitUntil(lambda: not fake_client.active, timeout=5000)
    qtbot.wait(100)
    assert len(fake_client.requests) == 1
    conversations.restore(chat.id)
    page.open_conversation(chat.id)
    view = say(qtbot, page, "Go on")
    wait_done(qtbot, view, 4)
    assert view.chat.messages[1].text == REPLY
