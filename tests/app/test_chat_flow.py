"""A conversation at work: what is saved when, what the engine is asked, how replies end."""

import sqlite3
from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from app.chat.chat import Chat, title_of
from app.chat.chats import Chats
from app.data.conversations import Conversations
from app.engine_service import EngineService
from app.settings.settings import Settings
from engine.options import EngineOptions
from engine.request import NO_SESSION
from tests.helpers.fake_client import REPLY, FakeClient


@pytest.fixture
def chats(
    service: EngineService,
    conversations: Conversations,
    settings: Settings,
    fake_client: FakeClient,
) -> Chats:
    fake_client.become_ready()
    fake_client.poll()  # what it says about loading is over
    return Chats(service, conversations, settings)


@pytest.fixture
def chat(chats: Chats, conversations: Conversations) -> Chat:
    return chats.open(conversations.create())


@pytest.fixture
def until_done(qtbot: QtBot) -> Callable[[Chat], None]:
    def wait(chat: Chat) -> None:
        qtbot.waitUntil(lambda: not chat.is_busy and bool(chat.messages), timeout=10000)

    return wait


Wait = Callable[[Chat], None]


def texts(chat: Chat) -> list[str]:
    return [each.text for each in chat.messages]


def test_a_question_is_on_disk_before_the_engine_hears_it(
    chat: Chat, conversations: Conversations, fake_client: FakeClient, until_done: Wait
) -> None:
    on_disk_then: list[int] = []

    def reply(request: object) -> str:
        rows = conversations.store.rows("SELECT count(*) FROM message WHERE text = 'Hello?'")
        on_disk_then.append(rows[0][0])
        return "Yes."

    fake_client.reply = reply
    chat.send("Hello?")
    assert fake_client.requests == {}
    until_done(chat)
    assert on_disk_then == [1]
    assert texts(chat) == ["Hello?", "Yes."]
    assert chat.messages[1].state == "done"
    assert chat.messages[1].result is not None
    assert chat.messages[1].result.n_tokens == 1
    assert chat.conversation.title == "Hello?"


def test_the_text_is_accepted_only_once_it_is_saved(qtbot: QtBot, chat: Chat) -> None:
    with qtbot.waitSignal(chat.accepted):
        chat.send("Hello?")


def disk_is_full(writes: object) -> None:
    """In place of the writer's `_write`."""
    raise sqlite3.OperationalError("database or disk is full")


def test_a_text_that_cannot_be_saved_is_refused_and_not_sent(
    qtbot: QtBot,
    chat: Chat,
    conversations: Conversations,
    fake_client: FakeClient,
    monkeypatch: pytest.MonkeyPatch,
    until_done: Wait,
) -> None:
    writer = conversations.store.writer
    whole = writer._write

    monkeypatch.setattr(writer, "_write", disk_is_full)
    with qtbot.waitSignal(chat.refused) as refused:
        chat.send("Precious")
    assert "full" in refused.args[0]
    assert texts(chat) == []
    with qtbot.waitSignal(chat.refused):
        chat.send("Precious")
    assert fake_client.requests == {}
    monkeypatch.setattr(writer, "_write", whole)
    qtbot.waitUntil(lambda: len(fake_client.requests) == 1, timeout=5000)  # without asking again
    until_done(chat)
    assert texts(chat) == ["Precious", REPLY]
    assert len(conversations.siblings(chat.messages[0].id)) == 1


def test_a_text_that_waits_for_the_disk_leaves_the_reply_alone_that_was_asked_for_meanwhile(
    qtbot: QtBot,
    chat: Chat,
    conversations: Conversations,
    fake_client: FakeClient,
    monkeypatch: pytest.MonkeyPatch,
    until_done: Wait,
) -> None:
    chat.send("First")
    until_done(chat)

    with monkeypatch.context() as patch:
        patch.setattr(conversations.store.writer, "_write", disk_is_full)
        for _ in range(2):  # the second time it is to be sent as soon as there is space
            with qtbot.waitSignal(chat.refused):
                chat.send("Precious")
        fake_client.held = True
        chat.regenerate(chat.messages[-1].id)
        reply = chat.reply
    with qtbot.waitSignal(conversations.message_saved):
        conversations.flush()
    assert chat.reply is reply and len(fake_client.active) == 1
    fake_client.held = False
    until_done(chat)
    chat.send("Precious")
    qtbot.waitUntil(lambda: len(chat.messages) == 4 and not chat.is_busy, timeout=5000)
    assert texts(chat) == ["First", REPLY, "Precious", REPLY]
    assert len(conversations.siblings(chat.messages[2].id)) == 1


def test_without_a_model_nothing_is_sent_or_saved(
    qtbot: QtBot, chat: Chat, fake_client: FakeClient, conversations: Conversations
) -> None:
    fake_client.unload()
    with qtbot.waitSignal(chat.refused):
        chat.send("Hello?")
    assert conversations.path(chat.id) == []


def test_stop_keeps_the_text_already_shown(qtbot: QtBot, chat: Chat, until_done: Wait) -> None:
    chat.send("Go")
    qtbot.waitUntil(lambda: len(chat.messages) == 2 and len(chat.messages[1].text) > 10)
    chat.stop()
    until_done(chat)
    assert chat.messages[1].state == "stopped"
    assert REPLY.startswith(chat.messages[1].text.strip())
    assert len(chat.messages[1].text) > 10


def test_a_crash_keeps_the_partial_reply_and_says_why(
    qtbot: QtBot, chat: Chat, fake_client: FakeClient, until_done: Wait
) -> None:
    chat.send("Go")
    qtbot.waitUntil(lambda: len(chat.messages) == 2 and len(chat.messages[1].text) > 10)
    fake_client.crash()
    until_done(chat)
    assert chat.messages[1].state == "failed"
    assert len(chat.messages[1].text) > 10
    assert chat.messages[1].result is not None
    assert "stopped" in chat.messages[1].result.detail


def test_a_failed_reply_is_written_again_beside_the_old_one(
    qtbot: QtBot,
    chat: Chat,
    fake_client: FakeClient,
    conversations: Conversations,
    until_done: Wait,
) -> None:
    chat.send("Go")
    until_done(chat)
    first = chat.messages[1].id
    fake_client.reply = lambda request: "Another."
    chat.regenerate(first)
    until_done(chat)
    assert texts(chat) == ["Go", "Another."]
    assert [each.text for each in conversations.siblings(chat.messages[1].id)] == [
        REPLY,
        "Another.",
    ]
    chat.show_version(chat.messages[1].id, -1)
    assert texts(chat) == ["Go", REPLY]


def test_an_edited_question_begins_a_branch(
    chat: Chat, fake_client: FakeClient, conversations: Conversations, until_done: Wait
) -> None:
    chat.send("One")
    until_done(chat)
    chat.send("Two")
    until_done(chat)
    fake_client.reply = lambda request: "New."
    chat.edit(chat.messages[2].id, "Two, better")
    until_done(chat)
    assert texts(chat) == ["One", REPLY, "Two, better", "New."]
    told = list(fake_client.requests.values())[-1].messages
    assert [turn.content for turn in told] == ["One", REPLY, "Two, better"]
    chat.show_version(chat.messages[2].id, -1)
    assert texts(chat) == ["One", REPLY, "Two", REPLY]


def test_deleting_a_message_takes_what_follows_it(
    chat: Chat, conversations: Conversations, until_done: Wait
) -> None:
    chat.send("One")
    until_done(chat)
    chat.send("Two")
    until_done(chat)
    chat.remove_message(chat.messages[2].id)
    assert texts(chat) == ["One", REPLY]
    conversations.flush()
    assert conversations.store.rows("SELECT count(*) FROM message")[0][0] == 2
    chat.remove_message(chat.messages[0].id)
    assert texts(chat) == []
    conversations.flush()
    assert conversations.store.rows("SELECT count(*) FROM message")[0][0] == 0


def test_turns_of_a_conversation_share_a_session(
    chat: Chat, fake_client: FakeClient, until_done: Wait
) -> None:
    chat.send("One")
    until_done(chat)
    chat.send("Two")
    until_done(chat)
    used = [request.session for request in fake_client.requests.values()]
    assert used[0] == used[1] != NO_SESSION


def test_another_branch_gets_a_session_of_its_own(
    chat: Chat, fake_client: FakeClient, until_done: Wait
) -> None:
    chat.send("One")
    until_done(chat)
    chat.regenerate(chat.messages[1].id)
    until_done(chat)
    chat.show_version(chat.messages[1].id, -1)
    chat.send("Two")
    until_done(chat)
    used = [request.session for request in fake_client.requests.values()]
    assert used[2] != used[1]
    assert ("close_session", used[1]) in fake_client.calls


def test_a_chat_deleted_while_it_streams_gives_its_memory_back_when_that_has_ended(
    qtbot: QtBot, chats: Chats, chat: Chat, fake_client: FakeClient
) -> None:
    fake_client.held = True
    chat.send("Hello?")
    qtbot.waitUntil(lambda: bool(fake_client.active), timeout=5000)
    chats.conversations.remove(chat.id)
    qtbot.waitUntil(lambda: len(chats.sessions) == 0, timeout=5000)
    assert [call[0] for call in fake_client.calls][-1] == "close_session"


def test_sessions_are_as_many_as_the_engine_computes_at_once(
    qtbot: QtBot, chats: Chats, conversations: Conversations, fake_client: FakeClient
) -> None:
    most = EngineOptions().max_requests
    made = [chats.open(conversations.create()) for _ in range(most + 3)]
    for chat in made:
        chat.send("Go")
    qtbot.waitUntil(lambda: len(fake_client.requests) == len(made), timeout=10000)
    used = [request.session for request in fake_client.requests.values()]
    assert used.count(NO_SESSION) == 3
    qtbot.waitUntil(lambda: not any(chat.is_busy for chat in made), timeout=10000)
    assert len(chats.sessions) == most
    made[-1].send("Again")
    qtbot.waitUntil(lambda: len(fake_client.requests) == len(made) + 1, timeout=10000)
    assert len(chats.sessions) == most
    assert list(fake_client.requests.values())[-1].session != NO_SESSION
    qtbot.waitUntil(lambda: not made[-1].is_busy, timeout=10000)


def test_a_chat_that_is_closed_streams_to_its_end(
    qtbot: QtBot, chats: Chats, chat: Chat, conversations: Conversations
) -> None:
    chat.send("Go")
    qtbot.waitUntil(lambda: chat.is_streaming)
    conversation_id = chat.id
    chats.close(conversation_id)
    qtbot.waitUntil(
        lambda: (
            (path := conversations.path(conversation_id))[-1].state == "done"
            and path[-1].text == REPLY
        ),
        timeout=10000,
    )


@pytest.mark.parametrize("text", ["Go", "word " * 2000])  # a long one is counted before it is sent
def test_a_chat_that_is_closed_before_it_is_asked_is_answered_to_the_end(
    qtbot: QtBot, chats: Chats, chat: Chat, conversations: Conversations, text: str
) -> None:
    busy: list[bool] = []
    chat.busy_changed.connect(lambda: busy.append(chat.is_busy))
    chat.send(text)
    conversation_id = chat.id
    chats.close(conversation_id)
    qtbot.waitUntil(lambda: conversations.path(conversation_id)[-1].text == REPLY, timeout=10000)
    assert conversations.path(conversation_id)[-1].state == "done"
    assert busy.count(False) == 1, "it does not rest between question and answer"


def test_a_prompt_without_room_for_a_reply_is_not_sent(
    qtbot: QtBot, chat: Chat, fake_client: FakeClient
) -> None:
    with qtbot.waitSignal(chat.room_needed) as needed:
        chat.send("word " * 9000)
    assert needed.args[0] > needed.args[1] == 8192
    assert fake_client.requests == {}
    assert chat.messages[0].text.startswith("word")


def test_a_long_prompt_leaves_its_reply_what_room_there_is(
    qtbot: QtBot, chat: Chat, fake_client: FakeClient, until_done: Wait
) -> None:
    chat.send("word " * 8000)
    until_done(chat)
    (request,) = fake_client.requests.values()
    assert request.params.max_tokens == 8192 - 8004


def test_a_chat_deleted_before_its_question_is_saved_asks_nothing_and_goes_on_when_it_is_back(
    qtbot: QtBot,
    chat: Chat,
    conversations: Conversations,
    fake_client: FakeClient,
    until_done: Wait,
) -> None:
    chat.send("Hello?")
    conversations.remove(chat.id)
    conversations.flush()
    qtbot.waitUntil(lambda: not chat.is_busy)
    assert fake_client.requests == {}
    conversations.restore(chat.id)
    assert texts(chat) == ["Hello?"]
    chat.regenerate(chat.messages[0].id)
    until_done(chat)
    assert texts(chat) == ["Hello?", REPLY]


def test_a_chat_deleted_while_its_prompt_is_counted_asks_nothing(
    qtbot: QtBot, chat: Chat, conversations: Conversations, fake_client: FakeClient
) -> None:
    chat.send("word " * 3000)
    conversations.flush()
    assert chat.is_busy  # being counted
    conversations.remove(chat.id)
    qtbot.waitUntil(lambda: not chat.is_busy)
    assert fake_client.requests == {}


def test_a_new_version_of_a_deleted_question_is_sent_in_its_place(
    chat: Chat, until_done: Wait
) -> None:
    chat.send("First")
    until_done(chat)
    chat.send("Second")
    until_done(chat)
    second = chat.messages[2].id
    chat.remove_message(second)
    chat.edit(second, "Another")
    until_done(chat)
    assert texts(chat) == ["First", REPLY, "Another", REPLY]


def test_titles_are_the_beginning_of_the_first_question() -> None:
    assert title_of("Short\n one") == "Short one"
    assert title_of("word " * 40).endswith("word…")
    assert len(title_of("x" * 500)) <= 48
