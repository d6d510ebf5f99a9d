"""The truth about conversations: trees, undo, search, and what a second start finds."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.conversations import Conversations
from app.reply_result import ReplyResult

Reopen = Callable[[], Conversations]


@pytest.fixture
def reopen(qapp: object, tmp_path: Path) -> Iterator[Reopen]:
    """Closes what is open and opens it again, as another start would."""
    opened: list[Conversations] = []

    def again() -> Conversations:
        for conversations in opened:
            conversations.close()
        opened.append(Conversations(tmp_path / "c.sqlite"))
        return opened[-1]

    yield again
    for conversations in opened:
        conversations.close()


@pytest.fixture
def conversations(reopen: Reopen) -> Conversations:
    return reopen()


def texts(conversations: Conversations, conversation: str) -> list[str]:
    return [message.text for message in conversations.path(conversation)]


def test_a_second_start_finds_everything(reopen: Reopen) -> None:
    conversations = reopen()
    chat = conversations.create(title="Rome", system_prompt="Be brief.", preset="precise")
    question = conversations.add_message(chat.id, "user", "Why?")
    reply = conversations.add_message(chat.id, "assistant", "", state="streaming")
    result = ReplyResult(reason="stop", n_tokens=3, tokens_per_s=1.5, model="m", policy="bevy")
    conversations.save_text(reply.id, "Because.", state="done", result=result)
    conversations.update(chat.id, draft="and th")
    before = conversations.get(chat.id), conversations.path(chat.id)

    again = reopen()
    assert (again.get(chat.id), again.path(chat.id)) == before
    assert again.get(chat.id).draft == "and th"
    assert [m.id for m in again.path(chat.id)] == [question.id, reply.id]
    assert again.path(chat.id)[1].result == result


def test_an_edited_message_is_a_sibling_and_either_can_be_shown(reopen: Reopen) -> None:
    conversations = reopen()
    chat = conversations.create()
    first = conversations.add_message(chat.id, "user", "one")
    conversations.add_message(chat.id, "assistant", "reply to one")
    edited = conversations.add_message(chat.id, "user", "two", parent=first.parent)
    conversations.add_message(chat.id, "assistant", "reply to two")
    assert texts(conversations, chat.id) == ["two", "reply to two"]
    assert [m.text for m in conversations.siblings(edited.id)] == ["one", "two"]

    conversations.select(first.id)
    assert texts(conversations, chat.id) == ["one", "reply to one"]
    assert texts(reopen(), chat.id) == ["one", "reply to one"]


def test_a_branch_has_copies_of_the_path_and_leaves_the_source_alone(
    conversations: Conversations,
) -> None:
    chat = conversations.create(title="Rome", system_prompt="Be brief.")
    conversations.add_message(chat.id, "user", "1")
    middle = conversations.add_message(chat.id, "assistant", "2")
    conversations.add_message(chat.id, "user", "3")
    branch = conversations.branch(middle.id)
    assert texts(conversations, branch.id) == ["1", "2"]
    assert (branch.title, branch.system_prompt) == ("Rome", "Be brief.")
    conversations.add_message(branch.id, "user", "other")
    assert texts(conversations, chat.id) == ["1", "2", "3"]


def test_remove_is_undone_by_restore_and_final_after_a_purge(reopen: Reopen) -> None:
    conversations = reopen()
    kept, lost = conversations.create(title="kept"), conversations.create(title="lost")
    for chat in (kept, lost):
        conversations.add_message(chat.id, "user", "hello")
        conversations.remove(chat.id)
    assert conversations.all() == []
    again = reopen()
    assert again.all() == []
    again.restore(kept.id)
    assert texts(again, kept.id) == ["hello"]
    again.purge_removed()
    with pytest.raises(KeyError):
        again.restore(lost.id)
    last = reopen()
    assert [c.title for c in last.all()] == ["kept"]
    assert last.store.rows("SELECT count(*) FROM message") == [(1,)]
    assert [hit.conversation.id for hit in last.search("hello")] == [kept.id]


def test_a_purge_copes_with_a_chain_of_thousands_of_messages(reopen: Reopen) -> None:
    conversations = reopen()
    chat = conversations.create()
    for number in range(5000):
        conversations.add_message(chat.id, "user", f"message {number}")
    conversations.flush()
    again = reopen()
    assert len(again.path(chat.id)) == 5000
    again.remove(chat.id)
    again.purge_removed()
    again.flush()
    assert again.store.rows("SELECT count(*) FROM message") == [(0,)]


def test_all_lists_the_most_recently_used_first_and_only_its_kind(
    conversations: Conversations,
) -> None:
    first = conversations.create(title="first")
    conversations.create(title="second")
    conversations.create(title="item", kind="subtask", task="t1")
    conversations.add_message(first.id, "user", "again")
    assert [c.title for c in conversations.all()] == ["first", "second"]
    assert [c.title for c in conversations.all("subtask")] == ["item"]


def test_a_draft_does_not_move_a_conversation_up(conversations: Conversations) -> None:
    first, second = conversations.create(title="first"), conversations.create(title="second")
    conversations.update(first.id, draft="h")
    assert [c.id for c in conversations.all()] == [second.id, first.id]


def test_a_reply_that_streamed_when_the_process_ended_is_stopped(reopen: Reopen) -> None:
    conversations = reopen()
    chat = conversations.create()
    reply = conversations.add_message(chat.id, "assistant", "", state="streaming")
    conversations.save_text(reply.id, "so far", state=None)
    again = reopen()
    assert (again.path(chat.id)[0].state, texts(again, chat.id)) == ("stopped", ["so far"])
    again.flush()
    assert again.store.rows("SELECT state FROM message") == [("stopped",)]
    assert [hit.message for hit in again.search("far")] == [reply.id]


def test_acknowledgements_come_on_the_callers_thread_after_the_commit(
    conversations: Conversations, qtbot: QtBot
) -> None:
    chat = conversations.create()
    heard: list[tuple[str | None, str, int]] = []

    def on_saved(reason: str | None) -> None:
        rows = conversations.store.rows("SELECT text FROM message")
        heard.append((reason, threading.current_thread().name, len(rows)))

    with qtbot.waitSignal(conversations.message_saved) as saved:
        message = conversations.add_message(chat.id, "user", "hi", on_saved=on_saved)
    assert saved.args == [message.id]
    assert heard == [(None, "MainThread", 1)]


def test_texts_that_stream_are_written_a_few_times_a_second(
    conversations: Conversations, qtbot: QtBot
) -> None:
    chat = conversations.create()
    reply = conversations.add_message(chat.id, "assistant", "", state="streaming")
    conversations.flush()
    # data_version counts commits by other connections.
    versions = set()
    for number in range(40):
        conversations.save_text(reply.id, "x" * number)
        qtbot.wait(10)
        versions.add(conversations.store.rows("PRAGMA data_version")[0])
    assert 1 < len(versions) <= 5
    qtbot.waitUntil(lambda: conversations.store.idle)
    assert conversations.store.rows("SELECT length(text) FROM message") == [(39,)]


def test_search_finds_words_in_titles_and_texts_in_any_script(
    conversations: Conversations,
) -> None:
    rome = conversations.create(title="The Forum")
    conversations.add_message(rome.id, "user", "Tell me about aqueducts.\nAnd 漢字仮名交じり文.")
    other = conversations.create(title="Über Brücken")
    conversations.add_message(other.id, "user", "100% steel_beams and ducts")
    conversations.flush()

    def found(text: str) -> set[str]:
        return {hit.conversation.title for hit in conversations.search(text)}

    assert found("aqueduct") == {"The Forum"}
    assert found("DUCTS") == {"The Forum", "Über Brücken"}
    assert found("tell aqueduct") == {"The Forum"}
    assert found("tell steel") == set()
    assert found("forum") == {"The Forum"}
    assert found("über") == {"Über Brücken"}
    assert found("漢字") == {"The Forum"}
    assert found("仮名交じり") == {"The Forum"}
    assert found("0%") == {"Über Brücken"}
    assert found("%%") == set()
    assert found('"quo*te AND (') == set()
    assert found("   ") == set()
    [hit] = conversations.search("aqueduct")
    assert hit.snippet == "Tell me about aqueducts. And 漢字仮名交じり文."
    conversations.add_message(other.id, "user", "ÜBER: ИИ")
    conversations.flush()
    assert found("ии") == found("üb") == {"Über Brücken"}


def test_the_snippet_of_a_hit_shows_it_also_behind_letters_that_fold_to_several(
    conversations: Conversations,
) -> None:
    chat = conversations.create()
    conversations.add_message(chat.id, "user", "Straße. " * 300 + "Nadel. " + "Heu. " * 100)
    conversations.flush()
    [hit] = conversations.search("nadel")
    assert "Nadel" in hit.snippet
    assert hit.snippet.startswith("…Straße. Straße. Nadel.")  # soon, and after whole words


def test_search_follows_edits_of_texts_and_leaves_out_what_was_removed(
    conversations: Conversations,
) -> None:
    chat = conversations.create(title="chat")
    reply = conversations.add_message(chat.id, "assistant", "alpha", state="streaming")
    conversations.save_text(reply.id, "alpha beta", state="done")
    conversations.flush()
    assert len(conversations.search("beta")) == 1
    conversations.save_text(reply.id, "gamma")
    conversations.flush()
    assert (len(conversations.search("beta")), len(conversations.search("gamma"))) == (0, 1)
    conversations.remove(chat.id)
    assert conversations.search("gamma") == []


def test_only_the_newest_of_several_searches_is_answered(
    conversations: Conversations, qtbot: QtBot
) -> None:
    chat = conversations.create()
    conversations.add_message(chat.id, "user", "needle")
    conversations.flush()
    answers: list[tuple[str, int]] = []
    for text in ("nee", "need", "needle"):
        conversations.search_later(text, lambda hits, _, t=text: answers.append((t, len(hits))))
    qtbot.waitUntil(lambda: bool(answers))
    qtbot.wait(50)
    assert answers == [("needle", 1)]


def test_texts_of_a_megabyte_and_broken_characters_are_kept(reopen: Reopen) -> None:
    conversations = reopen()
    chat = conversations.create()
    large = "wörter und nul\0 " * 70_000
    conversations.add_message(chat.id, "user", large)
    conversations.add_message(chat.id, "user", "half \ud83d a pair")
    assert texts(reopen(), chat.id) == [large, "half ? a pair"]


def test_what_is_forgotten_to_save_memory_is_read_again(
    conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.data.conversations._MOST_CHARS_IN_MEMORY", 1000)
    chats = [conversations.create(title=str(number)) for number in range(5)]
    for chat in chats:
        conversations.add_message(chat.id, "user", chat.title * 600)
    conversations.flush()
    for chat in chats * 2:
        assert texts(conversations, chat.id) == [chat.title * 600]


def test_only_known_fields_can_be_updated(conversations: Conversations) -> None:
    chat = conversations.create()
    with pytest.raises(TypeError, match="leaf"):
        conversations.update(chat.id, leaf="x")
    assert conversations.rename(chat.id, "new").title == "new"
