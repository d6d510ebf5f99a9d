"""A task runs over its items side by side, and nothing that happens to it is lost."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from pytestqt.qtbot import QtBot

from app.data.conversations import Conversations
from app.data.task import Task
from app.engine_service import EngineService
from app.settings.settings import Settings
from app.subtasks.task_run import TaskRun
from app.subtasks.task_runs import TaskRuns
from engine.options import EngineOptions
from engine.request import Request
from tests.helpers.fake_client import FakeClient

ITEMS = ["Rome", "Paris", "Berlin", "Oslo", "Bern"]
Make = Callable[..., TaskRun]


@pytest.fixture
def runs(service: EngineService, conversations: Conversations, settings: Settings) -> TaskRuns:
    return TaskRuns(service, conversations, settings)


@pytest.fixture
def make(runs: TaskRuns, fake_client: FakeClient) -> Make:
    """A task over ITEMS; the model is loaded and answers with the last word of the prompt."""
    fake_client.become_ready()
    fake_client.reply = lambda request: f"about {last_word(request)}"

    def made(items: list[str] = ITEMS, **fields: object) -> TaskRun:
        task = Task(id="", title="", prompt="Tell me of {item}", **fields)  # type: ignore[arg-type]
        return runs.create(task, items)

    return made


def last_word(request: Request) -> str:
    return request.messages[-1].content.split()[-1]


def closed(fake_client: FakeClient) -> set[object]:
    return {call[1] for call in fake_client.calls if call[0] == "close_session"}


def states(run: TaskRun) -> list[str]:
    return [item.state for item in run.items]


def test_every_item_gets_its_answer_in_a_chat_of_its_own(
    make: Make, conversations: Conversations, qtbot: QtBot
) -> None:
    run = make(system_prompt="Be brief.", preset="Precise")
    run.run_rest()
    qtbot.waitUntil(lambda: not run.is_active)
    assert states(run) == ["done"] * 5
    assert [run.answer(place) for place in range(5)] == [f"about {item}" for item in ITEMS]
    chats = conversations.all("subtask")
    assert {chat.title for chat in chats} == set(ITEMS)
    path = conversations.path(run.items[0].conversation or "")
    assert [(m.role, m.text, m.state) for m in path] == [
        ("user", "Tell me of Rome", "done"),
        ("assistant", "about Rome", "done"),
    ]
    assert path[1].result is not None
    assert conversations.all() == []


def test_as_many_run_as_the_engine_allows_and_the_rest_waits(
    make: Make, service: EngineService, fake_client: FakeClient, qtbot: QtBot
) -> None:
    service.load(Path("/models/m.gguf"), EngineOptions(max_requests=2))
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    fake_client.held = True
    run = make()
    run.run_rest()
    qtbot.waitUntil(lambda: len(fake_client.requests) == 2)
    qtbot.wait(100)
    assert len(fake_client.requests) == 2
    assert states(run) == ["running", "running", "waiting", "waiting", "waiting"]
    assert [run.is_queued(place) for place in range(5)] == [False, False, True, True, True]
    fake_client.held = False
    qtbot.waitUntil(lambda: not run.is_active)
    assert states(run) == ["done"] * 5


def test_a_reply_leaves_room_for_its_question_in_a_small_context(
    make: Make, service: EngineService, fake_client: FakeClient, qtbot: QtBot
) -> None:
    service.load(Path("/models/m.gguf"), EngineOptions(context=2048))
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    run = make()
    run.run_rest()
    qtbot.waitUntil(lambda: not run.is_active)
    asked = fake_client.requests.values()
    assert {request.params.max_tokens for request in asked} == {1024}


def test_a_task_can_ask_for_fewer_at_once(
    make: Make, fake_client: FakeClient, qtbot: QtBot
) -> None:
    fake_client.held = True
    run = make(at_once=3)
    run.run_rest()
    qtbot.waitUntil(lambda: len(fake_client.requests) == 3)
    qtbot.wait(100)
    assert states(run).count("running") == 3


def test_the_question_is_on_disk_before_it_is_sent(
    make: Make, conversations: Conversations, fake_client: FakeClient, qtbot: QtBot
) -> None:
    run = make(["Rome"])
    found: list[int] = []

    def submitted(request: Request) -> str:
        rows = conversations.store.rows("SELECT count(*) FROM message WHERE role = 'user'")
        found.append(rows[0][0])
        return "yes"

    fake_client.reply = submitted
    run.run_rest()
    assert fake_client.requests == {}
    qtbot.waitUntil(lambda: not run.is_active)
    assert found == [1]


def test_an_item_whose_question_cannot_be_saved_fails_with_the_reason(
    make: Make, conversations: Conversations, fake_client: FakeClient, qtbot: QtBot
) -> None:
    make(["Rome"])
    conversations.flush()
    [(n_pages,)] = conversations.store.rows("PRAGMA page_count")
    conversations.store.writer.connection.execute(f"PRAGMA max_page_count = {n_pages}")
    big = make(["x" * 50_000])
    big.run_rest()
    qtbot.waitUntil(lambda: states(big) == ["failed"])
    assert "full" in big.items[0].detail
    assert fake_client.requests == {}
    conversations.store.writer.connection.execute("PRAGMA max_page_count = 1000000")


def test_items_share_sessions_so_that_what_they_have_in_common_is_read_once(
    make: Make, fake_client: FakeClient, qtbot: QtBot
) -> None:
    run = make(at_once=2)
    run.run_rest()
    qtbot.waitUntil(lambda: not run.is_active)
    sessions = {request.session for request in fake_client.requests.values()}
    assert len(sessions) == 2
    qtbot.waitUntil(lambda: closed(fake_client) == sessions)
    shared = {request.messages[-1].content[:11] for request in fake_client.requests.values()}
    assert shared == {"Tell me of "}


def test_stop_keeps_the_text_already_there_and_a_rerun_is_a_second_reply(
    make: Make, conversations: Conversations, fake_client: FakeClient, qtbot: QtBot
) -> None:
    fake_client.reply = lambda request: "many words " * 1000
    run = make(["Rome"])
    run.run_rest()
    qtbot.waitUntil(lambda: (live := run.live(0)) is not None and live.n_tokens > 2)
    run.stop(0)
    qtbot.waitUntil(lambda: not run.is_active)
    assert states(run) == ["stopped"]
    assert run.answer(0).startswith("many words")
    first = run.items[0].reply
    fake_client.reply = lambda request: "short"
    run.rerun(0)
    qtbot.waitUntil(lambda: not run.is_active)
    assert (states(run), run.answer(0)) == (["done"], "short")
    assert [m.id for m in conversations.siblings(first or "")] == [first, run.items[0].reply]


def test_stop_all_stops_what_runs_and_leaves_the_rest_to_be_run(
    make: Make, fake_client: FakeClient, qtbot: QtBot
) -> None:
    fake_client.reply = lambda request: "many words " * 1000
    run = make(at_once=2)
    run.run_rest()
    qtbot.waitUntil(lambda: run.tokens_per_s > 0)
    run.stop_all()
    qtbot.waitUntil(lambda: not run.is_active)
    assert states(run) == ["stopped", "stopped", "waiting", "waiting", "waiting"]
    assert run.n_unfinished == 5
    fake_client.reply = lambda request: "short"
    run.run_rest()
    qtbot.waitUntil(lambda: not run.is_active)
    assert states(run) == ["done"] * 5


def test_when_the_engine_dies_the_unfinished_are_marked_and_the_rest_can_be_run(
    make: Make, service: EngineService, fake_client: FakeClient, qtbot: QtBot
) -> None:
    run = make(at_once=2)
    fake_client.reply = lambda request: "many words " * (1000 if "Rome" not in str(request) else 1)
    run.run_rest()
    qtbot.waitUntil(lambda: all((live := run.live(n)) and live.n_tokens > 2 for n in (1, 2)))
    assert states(run)[0] == "done"
    n_requests = len(fake_client.requests)
    fake_client.crash()
    qtbot.waitUntil(lambda: not run.is_active)
    assert states(run) == ["done", "failed", "failed", "waiting", "waiting"]
    assert "engine stopped" in run.items[1].detail
    assert "ran out of memory" in run.trouble
    assert len(fake_client.requests) == n_requests  # nothing was sent into the void
    assert run.answer(1).startswith("many words")

    service.restart()
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    fake_client.reply = lambda request: "short"
    assert run.n_unfinished == 4
    run.run_rest()
    qtbot.waitUntil(lambda: not run.is_active)
    assert (states(run), run.trouble) == (["done"] * 5, "")


def test_without_a_model_a_run_says_so_and_keeps_its_items(
    make: Make, fake_client: FakeClient, service: EngineService, qtbot: QtBot
) -> None:
    run = make()
    service.unload()
    run.run_rest()
    assert not run.is_active
    assert run.trouble
    assert states(run) == ["waiting"] * 5


@pytest.mark.parametrize("how", ["no model", "stop all", "stop"])
def test_an_item_that_was_done_stays_so_when_it_is_to_run_again_and_does_not(
    make: Make, service: EngineService, fake_client: FakeClient, qtbot: QtBot, how: str
) -> None:
    run = make(ITEMS[:3], at_once=1)
    run.run_rest()
    qtbot.waitUntil(lambda: not run.is_active)
    fake_client.reply = lambda request: "word " * 1000
    if how == "no model":
        service.unload()
        run.rerun(2)
        assert run.trouble
    else:
        run.rerun(0)
        run.rerun(2)
        assert run.is_queued(2)
        (run.stop_all if how == "stop all" else lambda: run.stop(2))()
    assert run.items[2].state == "done"
    assert run.answer(2) == "about Berlin"
    run.stop_all()


def test_changes_of_many_items_are_told_at_once(make: Make, qtbot: QtBot) -> None:
    run = make([f"item {n}" for n in range(300)])
    run.items = [msgspec.structs.replace(item, state="failed") for item in run.items]
    told: list[int] = []
    run.changed.connect(lambda: told.append(1))
    run.run_rest()
    run.stop_all()
    assert len(told) < 100


@pytest.fixture
def second_start(
    home: Path, service: EngineService, settings: Settings
) -> Iterator[Callable[[Conversations], TaskRuns]]:
    opened: list[Conversations] = []

    def start(before: Conversations) -> TaskRuns:
        before.close()
        opened.append(Conversations(home / "conversations.sqlite"))
        return TaskRuns(service, opened[-1], settings)

    yield start
    for conversations in opened:
        conversations.close()


def test_a_run_survives_a_restart_of_the_app(
    make: Make,
    conversations: Conversations,
    fake_client: FakeClient,
    second_start: Callable[[Conversations], TaskRuns],
    qtbot: QtBot,
) -> None:
    words = {"Rome": 1}
    fake_client.reply = lambda request: "word " * words.get(last_word(request), 1000)
    run = make(at_once=2, system_prompt="Be brief.")
    run.run_rest()
    qtbot.waitUntil(lambda: all((live := run.live(n)) and live.n_tokens > 2 for n in (1, 2)))
    assert states(run)[0] == "done"
    runs = second_start(conversations)
    [again] = runs.all()
    assert again.task == run.task
    assert states(again) == ["done", "stopped", "stopped", "waiting", "waiting"]
    assert again.answer(0) == "word"
    assert again.answer(1).startswith("word")
    assert "closed" in again.items[1].detail
    fake_client.reply = lambda request: "short"
    again.run_rest()
    qtbot.waitUntil(lambda: not again.is_active)
    assert states(again) == ["done"] * 5


def test_a_removed_task_comes_back_with_its_chats(
    make: Make, runs: TaskRuns, conversations: Conversations, qtbot: QtBot
) -> None:
    run = make(["Rome", "Paris"])
    run.run_rest()
    qtbot.waitUntil(lambda: not run.is_active)
    runs.remove(run)
    assert (runs.all(), conversations.all("subtask")) == ([], [])
    runs.restore(run)
    assert runs.all() == [run]
    assert run.answer(0) == "about Rome"
    conversations.flush()
    assert conversations.store.rows("SELECT removed FROM task") == [(None,)]


def test_results_are_summed_up_by_a_last_request(
    make: Make, fake_client: FakeClient, conversations: Conversations, qtbot: QtBot
) -> None:
    run = make(summarise=True)
    run.run_rest()
    qtbot.waitUntil(lambda: bool(run.summary.text) and not run.summary.is_active)
    last = fake_client.requests[max(fake_client.requests)].messages[-1].content
    assert all(f"## {item}\n\nabout {item}" in last for item in ITEMS)
    assert run.task.summary in {chat.id for chat in conversations.all("subtask")}
    assert run.summary.note == ""


def test_results_longer_than_the_context_are_summed_up_in_groups_and_it_says_so(
    make: Make, service: EngineService, fake_client: FakeClient, qtbot: QtBot
) -> None:
    service.load(Path("/models/m.gguf"), EngineOptions(context=1024))
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    run = make()
    place_of = dict(zip(ITEMS, range(5), strict=True))
    fake_client.reply = lambda request: " ".join(["fact"] * 150 + [last_word(request)])
    for item in place_of:
        run.rerun(place_of[item])
    qtbot.waitUntil(lambda: not run.is_active, timeout=30_000)
    before = len(fake_client.requests)
    fake_client.reply = lambda request: (
        "all of it" if "Group 1" in request.messages[-1].content else "a part of it"
    )
    run.summarise()
    qtbot.waitUntil(lambda: not run.summary.is_active)
    n_groups = len(fake_client.requests) - before - 1
    assert run.summary.text == "all of it"
    assert n_groups > 1
    assert f"{n_groups} groups" in run.summary.note
    asked = [r.messages[-1].content for n, r in fake_client.requests.items() if n >= before]
    assert all(any(item in text for text in asked[:-1]) for item in ITEMS)
    assert all(len(text.split()) < 1024 - 256 for text in asked)


def test_a_summary_that_is_stopped_before_its_text_is_written_stays_stopped(
    make: Make, fake_client: FakeClient, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    monkeypatch.setattr(fake_client, "count_tokens", lambda messages: 10**6)  # it takes long
    run = make(summarise=True)
    run.run_rest()
    qtbot.waitUntil(lambda: run.summary.is_active)
    n_requests = len(fake_client.requests)
    run.stop_all()
    assert not run.summary.is_active
    qtbot.wait(100)
    assert len(fake_client.requests) == n_requests
    assert run.task.summary is None


def test_a_summary_whose_earlier_chat_was_deleted_can_be_stopped(
    make: Make, conversations: Conversations, qtbot: QtBot
) -> None:
    run = make(["Rome"], summarise=True)
    run.run_rest()
    qtbot.waitUntil(lambda: bool(run.summary.text) and not run.summary.is_active)
    conversations.remove(str(run.task.summary))
    conversations.purge_removed()
    run.summarise()
    assert run.summary.is_active
    run.stop_all()
    assert not run.summary.is_active


def test_a_summary_that_cannot_fit_says_so(
    make: Make, service: EngineService, fake_client: FakeClient, qtbot: QtBot
) -> None:
    run = make(["Rome"])
    run.run_rest()
    qtbot.waitUntil(lambda: not run.is_active)
    service.load(Path("/models/m.gguf"), EngineOptions(context=128))
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    run.summarise()
    qtbot.waitUntil(lambda: not run.summary.is_active)
    assert "too long" in run.summary.trouble
