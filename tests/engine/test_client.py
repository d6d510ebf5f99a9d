"""An engine in another process does what one in this process does. On the real engine."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine import trace
from engine.cache_size import CacheSize
from engine.cli.replies import Replies, Reply
from engine.client import (
    Applied,
    CacheChanged,
    EngineClient,
    PolicyRefused,
    StatsArrived,
    TokensCounted,
    Traced,
    Used,
)
from engine.engine import Engine
from engine.events import Finished, Notice, PrefillProgress
from engine.link_speed import LinkSpeed
from engine.request import Message, Request, RequestId, SessionId
from engine.sampling import SamplingParams
from engine.trace import Event
from tests.helpers.listening import Ear, alive, asked, opened, options
from tests.helpers.models import tiny_model

PROMPTS = ("Once upon a time", "def main():", "The sea is", "12 + 30 =")
SLOW = LinkSpeed.parse("1MB/s")


@pytest.fixture(scope="module")
def model() -> Path:
    return tiny_model("q4_0")


@pytest.fixture
def client() -> Iterator[EngineClient]:
    made = EngineClient()
    yield made
    made.close()
    assert made.pid is None


@pytest.fixture
def ear(client: EngineClient) -> Ear:
    return Ear(client)


def in_process(model: Path, requests: list[Request], **fields: object) -> list[list[int]]:
    with Engine.open(model, options(**fields)) as engine:
        replies = [Reply(engine.submit(request), "") for request in requests]
        Replies(engine, replies).run()
    return [reply.tokens for reply in replies]


def test_tokens_are_those_of_an_engine_in_this_process(ear: Ear, model: Path) -> None:
    requests = [asked(prompt) for prompt in PROMPTS]
    client = opened(ear, model)
    numbers = [client.submit(request) for request in requests]
    assert {ear.end(number).reason for number in numbers} == {"length"}
    assert [ear.tokens(number) for number in numbers] == in_process(model, requests)
    assert all(ear.text(number) for number in numbers)


def test_options_that_no_message_holds_fail_the_load(ear: Ear, model: Path) -> None:
    ear.client.load(model, options(link=LinkSpeed(1 << 64)))
    state = ear.client.state
    assert state.phase == "failed" and "number that is too large" in state.reason


def test_loading_goes_through_its_states_once_and_in_order(ear: Ear, model: Path) -> None:
    client = opened(ear, model, store="pack")
    states = ear.states()
    phases = [state.phase for state in states]
    assert list(dict.fromkeys(phases)) == ["starting", "loading", "ready"]
    assert phases == sorted(phases, key=["starting", "loading", "ready"].index)
    assert {"pack", "weights"} <= {state.stage for state in states}
    first, last = states[0], states[-1]
    assert first.model is not None and first.model.title == model.stem
    assert last.model is not None and last.info is not None
    assert (last.model.architecture, last.model.n_expert, last.info.n_expert) == (
        "qwen3moe",
        16,
        16,
    )
    assert last.options == options(store="pack")
    assert client.state == last
    client.unload()
    ear.listen()
    assert [state.phase for state in ear.states()][-1] == "stopped"


def test_what_a_request_needed_is_told_before_its_end(ear: Ear, model: Path) -> None:
    client = opened(ear, model, cache=CacheSize(fraction=0.5))
    client.watch(True)
    numbers = [client.submit(asked(prompt)) for prompt in PROMPTS]
    for number in numbers:
        ear.end(number)
    assert client.state.info is not None
    needed = client.state.info.n_layer * client.state.info.n_expert_used * 23  # one is prefilled
    for number, prompt in zip(numbers, PROMPTS, strict=True):
        used = ear.used(number)
        assert (used.prompt_tokens, used.reused_tokens) == (len(prompt.encode()), 0)
        assert used.hits + used.joined + used.misses == needed
        at = ear.events.index(used)
        assert ear.events[at + 1] == Finished(number, "length")
        own = ear.records()
        own = own[(own["request"] == number) & (own["step"] >= 0)]
        assert used.misses == len(trace.of(own, Event.MISS))
        assert used.hits == len(trace.of(own, Event.HIT))
    assert sum(ear.used(number).misses for number in numbers) > 0


def test_a_session_reuses_what_it_holds_and_says_how_much(ear: Ear, model: Path) -> None:
    client = opened(ear, model)
    session = client.open_session()
    first = client.submit(asked("A story that both begin with. One", session=session))
    ear.end(first)
    second = client.submit(asked("A story that both begin with. Two", session=session))
    ear.end(second)
    assert ear.used(first).reused_tokens == 0
    assert ear.used(second).reused_tokens == len("A story that both begin with. ")


def test_a_session_with_a_request_in_flight_refuses_another(ear: Ear, model: Path) -> None:
    client = opened(ear, model, link=SLOW, cache=CacheSize(fraction=0.3))
    session = client.open_session()
    first = client.submit(asked("One", 400, session=session))
    second = client.submit(asked("Two", session=session))
    end = ear.end(second)
    assert end.reason == "error" and "in flight" in end.detail
    client.cancel(first)
    assert ear.end(first).reason == "cancelled"
    third = client.submit(asked("Three", 2, session=session))
    assert ear.end(third).reason == "length"


def test_closing_a_session_cancels_what_runs_in_it(ear: Ear, model: Path) -> None:
    client = opened(ear, model, link=SLOW, cache=CacheSize(fraction=0.3))
    session = client.open_session()
    running = client.submit(asked("One", 400, session=session))
    client.close_session(session)
    assert ear.end(running).reason == "cancelled"
    late = client.submit(asked("Two", session=session))
    end = ear.end(late)
    assert end.reason == "error" and "not open" in end.detail
    assert ear.end(client.submit(asked("Three", session=SessionId(99)))).reason == "error"


def test_stop_during_prefill_stops_within_a_layer(ear: Ear, model: Path) -> None:
    client = opened(ear, model, link=SLOW, cache=CacheSize(fraction=0.3))
    client.watch(True)
    number = client.submit(asked("x" * 300))
    ear.until(lambda: len(trace.of(ear.records(), Event.MISS)) > 0)
    seen = int(trace.of(ear.records(), Event.MISS)["layer"].max())
    client.cancel(number)
    assert ear.end(number).reason == "cancelled"
    records = ear.records()
    assert len(trace.of(records, Event.PREFILL)) == 0
    assert int(trace.of(records, Event.MISS)["layer"].max()) <= seen + 1 < 3
    assert ear.of(PrefillProgress) == []


def test_many_requests_at_once_all_end_with_their_own_tokens(ear: Ear, model: Path) -> None:
    requests = [asked(PROMPTS[n % 4], 4 + n % 3) for n in range(150)]
    client = opened(ear, model, max_requests=8)
    numbers = [client.submit(request) for request in requests]
    assert len(set(numbers)) == 150
    for number in numbers:
        assert ear.end(number).reason == "length"
    few = in_process(model, requests[:12])
    assert [ear.tokens(number) for number in numbers] == [few[n % 12] for n in range(150)]


def test_a_cancel_ends_one_and_leaves_the_others(ear: Ear, model: Path) -> None:
    client = opened(ear, model)
    stopped = client.submit(asked("One", 480))
    other = client.submit(asked(PROMPTS[0]))
    client.cancel(stopped)
    client.cancel(stopped)
    client.cancel(RequestId(77))
    assert ear.end(stopped).reason == "cancelled"
    assert ear.end(other).reason == "length"
    assert ear.tokens(other) == in_process(model, [asked(PROMPTS[0])])[0]


def test_settings_reach_the_engine_while_text_streams(ear: Ear, model: Path) -> None:
    client = opened(ear, model, cache=CacheSize(fraction=0.3))
    number = client.submit(asked(PROMPTS[0], 64))
    client.set_cache_size(CacheSize())
    client.set_policy("lockstep-lfu", cold=True)
    client.set_link(LinkSpeed.parse("3GB/s"))
    client.set_policy("no-such-policy")
    client.set_cache_size(CacheSize(fraction=0.5))
    ear.end(number)
    ear.until(lambda: len(ear.of(Notice)) > 0)
    assert "no-such-policy" in ear.of(Notice)[0].text
    assert [applied.policy for applied in ear.of(Applied)] == ["lockstep-lfu", "lockstep-lfu"]
    assert ear.of(Applied)[-1].link == LinkSpeed.parse("3GB/s")
    assert ear.of(PolicyRefused) == [PolicyRefused("no-such-policy")]
    assert client.state.info is not None
    total = client.state.info.experts_total_bytes
    assert ear.of(CacheChanged)[-1].change.cache_bytes == total // 2
    assert ear.tokens(number) == in_process(model, [asked(PROMPTS[0], 64)])[0]


def test_a_chat_is_counted_as_it_would_be_prefilled(ear: Ear, model: Path) -> None:
    client = opened(ear, model)
    chat = (Message("user", "How long is this?"),)
    query = client.count_tokens(chat)
    ear.until(lambda: len(ear.of(TokensCounted)) > 0)
    number = client.submit(Request(messages=chat, params=SamplingParams(max_tokens=1)))
    ear.end(number)
    assert ear.of(TokensCounted) == [TokensCounted(query, ear.used(number).prompt_tokens)]


def test_counters_come_while_something_runs_and_once_when_it_is_over(ear: Ear, model: Path) -> None:
    client = opened(ear, model)
    number = client.submit(asked(PROMPTS[0]))
    ear.end(number)
    ear.until(lambda: any(each.stats.active_requests == 0 for each in ear.of(StatsArrived)[-1:]))
    assert ear.of(StatsArrived)[-1].stats.steps == 23
    n = len(ear.of(StatsArrived))
    time.sleep(0.7)
    ear.listen()
    assert len(ear.of(StatsArrived)) == n


def test_records_come_only_while_watched_and_carry_the_clients_numbers(
    ear: Ear, model: Path
) -> None:
    client = opened(ear, model)
    refused = client.submit(asked("x", 5000))  # so that the engine's numbers differ
    assert "max_tokens" in ear.end(refused).detail
    unseen = client.submit(asked(PROMPTS[0], 8))
    ear.end(unseen)
    assert ear.of(Traced) == []
    client.watch(True)
    seen = client.submit(asked(PROMPTS[1], 8))
    ear.end(seen)
    client.watch(False)
    records = ear.records()
    assert set(records["request"]) <= {seen, -1}
    steps = trace.of(records, Event.STEP)
    groups = trace.of(records, Event.GROUP)
    assert len(steps) == 7
    assert set(groups["b"]) == {1 << seen}
    ear.listen()
    n = len(ear.of(Traced))
    ear.end(client.submit(asked(PROMPTS[2], 8)))
    assert len(ear.of(Traced)) == n


def test_nothing_is_lost_while_nobody_listens(ear: Ear, model: Path) -> None:
    requests = [asked(prompt, 400) for prompt in PROMPTS]
    client = opened(ear, model, cache=CacheSize(fraction=0.5))
    client.watch(True)
    numbers = [client.submit(request) for request in requests]
    time.sleep(2.0)
    for number in numbers:
        assert ear.end(number).reason == "length"
    assert [ear.tokens(number) for number in numbers] == in_process(model, requests)


def test_two_clients_have_two_engines(ear: Ear, client: EngineClient, model: Path) -> None:
    other = Ear(EngineClient())
    try:
        opened(ear, model)
        opened(other, model)
        assert client.pid != other.client.pid
        first, second = client.submit(asked(PROMPTS[0])), other.client.submit(asked(PROMPTS[1]))
        assert first == second  # each counts for itself
        ear.end(first)
        other.client.close()
        other.listen()
        assert ear.end(client.submit(asked("more", 2))).reason == "length"
        assert client.state.phase == "ready" and other.client.state.phase == "stopped"
    finally:
        other.client.close()


def test_requests_without_an_engine_end_with_a_sentence(
    ear: Ear, client: EngineClient, model: Path
) -> None:
    first = client.submit(asked("x"))
    assert client.count_tokens([Message("user", "x")]) == 0
    assert ear.end(first) == Finished(first, "error", "No model is open.")
    assert ear.of(TokensCounted) == [TokensCounted(0, -1)]
    client.load(model, options())
    second = client.submit(asked("x"))
    assert ear.end(second) == Finished(second, "error", "The model is still being loaded.")
    client.set_policy("bevy")
    client.cancel(first)
    assert ear.phase("ready", "failed").phase == "ready"


def test_text_that_no_message_can_hold_ends_only_its_request(ear: Ear, model: Path) -> None:
    client = opened(ear, model)
    broken = client.submit(asked("half a character: \ud83d"))
    end = ear.end(broken)
    assert end.reason == "error" and "no character" in end.detail
    assert ear.end(client.submit(asked("x", 2))).reason == "length"


def test_unloading_while_replies_stream_cancels_them_and_frees_the_process(
    ear: Ear, client: EngineClient, model: Path, home: Path
) -> None:
    opened(ear, model, run_log=True)
    pid = client.pid
    assert pid is not None
    numbers = [client.submit(asked(prompt, 400)) for prompt in PROMPTS]
    ear.until(lambda: all(ear.tokens(number) for number in numbers))
    client.unload()
    ear.listen()
    assert [ear.end(number).reason for number in numbers] == ["cancelled"] * 4
    assert client.state.phase == "stopped" and client.pid is None
    client.close()
    assert not alive(pid)
    (run,) = (home / "runs").iterdir()
    assert b'"ended":""' not in (run / "meta.json").read_bytes()
    assert list((home / "logs").iterdir()) == []


def test_loading_another_model_ends_the_first(ear: Ear, client: EngineClient, model: Path) -> None:
    opened(ear, model)
    first = client.pid
    assert first is not None
    number = client.submit(asked("x", 400))
    client.load(tiny_model("q8_0"), options())
    assert ear.end(number).reason == "cancelled"
    state = ear.phase("ready", "failed")
    assert state.phase == "ready" and state.model is not None
    assert state.model.path == str(tiny_model("q8_0"))
    assert not alive(first) and client.pid != first
    assert ear.end(client.submit(asked("x", 2))).reason == "length"


def test_an_idle_poll_is_next_to_free(ear: Ear, model: Path) -> None:
    client = opened(ear, model)
    ear.until(lambda: bool(ear.of(StatsArrived)))
    time.sleep(0.3)
    ear.listen()
    calls = [client.poll() for _ in range(1000)]
    assert sum(map(len, calls)) == 0


def test_used_is_empty_for_a_request_that_was_stopped_before_it_ran(ear: Ear, model: Path) -> None:
    client = opened(ear, model, max_requests=1, link=SLOW, cache=CacheSize(fraction=0.3))
    running = client.submit(asked("One", 400))
    waiting = client.submit(asked("Two", 400))
    client.cancel(waiting)
    assert ear.end(waiting).reason == "cancelled"
    assert ear.used(waiting) == Used(waiting, len("Two"), 0, 0, 0, 0)
    client.cancel(running)
    ear.end(running)


def test_records_are_a_view_of_what_arrived(ear: Ear, model: Path) -> None:
    client = opened(ear, model)
    client.watch(True)
    ear.end(client.submit(asked("x", 8)))
    traced = ear.of(Traced)
    assert traced and all(each.dropped == 0 for each in traced)
    assert not any(each.records.flags.writeable for each in traced)
    assert np.all(np.diff(trace.of(ear.records(), Event.STEP)["begin_ns"]) > 0)
