"""EngineService turns what the engine has produced into signals, once per frame."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from engine.cache_size import CacheSize
from engine.link_speed import LinkSpeed
from engine.model_info import ModelInfo
from engine.options import EngineOptions
from engine.pack import PackFile
from engine.request import Message, Request
from tests.helpers.fake_client import REPLY, FakeClient
from tests.helpers.fake_jobs import FakeJobs

HELLO = Request(messages=(Message("user", "Hello"),))


def test_a_reply_streams_and_says_what_it_cost(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    reply = service.generate(HELLO)
    texts: list[str] = []
    reply.text_arrived.connect(texts.append)
    with qtbot.waitSignal(reply.finished) as finished:
        assert service.replies == [reply]
    assert reply.text == "".join(texts) == REPLY
    assert len(texts) > 3
    result = finished.args[0]
    assert (result.reason, result.n_tokens) == ("stop", len(REPLY.split()))
    assert (result.prompt_tokens, result.reused_tokens) == (24, 8)
    assert result.hit_rate == pytest.approx(0.7)
    assert result.tokens_per_s > 0
    assert result.first_token_s > 0
    assert result.model == "qwen3-30b-a3b"
    assert service.replies == []


def test_replies_stream_at_once(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    fake_client.reply = lambda request: request.messages[0].content * 3
    replies = [service.generate(Request(messages=(Message("user", f"{n} "),))) for n in range(16)]
    qtbot.waitUntil(lambda: not service.replies)
    assert [reply.text for reply in replies] == [f"{n} " * 3 for n in range(16)]


def test_stopping_keeps_the_text_that_had_arrived(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    reply = service.generate(HELLO)
    qtbot.waitUntil(lambda: reply.n_tokens > 2)
    with qtbot.waitSignal(reply.finished):
        reply.stop()
    assert reply.result is not None
    assert reply.result.reason == "cancelled"
    assert REPLY.startswith(reply.text)
    assert reply.text


def test_without_a_model_a_reply_ends_with_the_reason(qtbot: QtBot, service: EngineService) -> None:
    reply = service.generate(HELLO)
    qtbot.waitSignal(reply.finished)
    qtbot.waitUntil(lambda: not reply.active)
    assert reply.result is not None
    assert reply.result.reason == "error"
    assert "No model" in reply.result.detail


def test_a_crash_ends_replies_with_the_reason_and_restart_works(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    reply = service.generate(HELLO)
    qtbot.waitUntil(lambda: reply.n_tokens > 2)
    with qtbot.waitSignals([service.state_changed, reply.finished]):
        fake_client.crash()
    assert reply.result is not None
    assert reply.result.reason == "error"
    assert reply.text
    assert service.state.crashed
    service.restart()
    qtbot.waitUntil(lambda: service.state.phase == "ready")


def test_loading_tells_how_far_it_is(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient
) -> None:
    states = []
    service.state_changed.connect(states.append)
    options = EngineOptions(policy="lockstep-lfu", cache=CacheSize(fraction=0.5))
    service.load(Path("/models/a.gguf"), options)
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    assert [s.phase for s in states] == ["starting", "loading", "loading", "loading", "ready"]
    assert [s.done for s in states[1:4]] == [0, 1, 2]
    assert (service.policy, service.cache) == (options.policy, options.cache)


def test_a_policy_counts_once_the_engine_has_it_and_a_refused_one_never(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    with qtbot.waitSignals([service.policy_refused, service.noticed]):
        service.set_policy("bevvy")
    assert service.policy == "bevy"
    reply = service.generate(HELLO)
    qtbot.waitUntil(lambda: not reply.active)
    assert reply.result is not None
    assert reply.result.policy == "bevy"
    service.set_policy("specmd")
    assert service.policy == "bevy"
    qtbot.waitUntil(lambda: service.policy == "specmd")


def test_what_ends_a_reply_does_not_change_what_it_ran_with(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient
) -> None:
    slow = EngineOptions(policy="lockstep-lfu", link=LinkSpeed(50_000_000))
    fake_client.load(Path("/models/a.gguf"), slow)
    qtbot.waitUntil(lambda: service.state.phase == "ready" and service.link.emulated)
    for end in (lambda: service.load(Path("/models/b.gguf"), EngineOptions()), service.close):
        fake_client.held = True
        reply = service.generate(HELLO)
        end()
        qtbot.waitUntil(lambda reply=reply: not reply.active)
        assert reply.result is not None and reply.result.reason == "cancelled"
        assert (reply.result.policy, reply.result.link) == (slow.policy, str(slow.link))
        if service.state.phase != "ready":
            fake_client.held = False
            service.load(Path("/models/a.gguf"), slow)
            qtbot.waitUntil(lambda: service.state.phase == "ready")


def test_what_is_opened_again_runs_as_it_was_opened(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    qtbot.waitUntil(lambda: service.policy == "bevy")
    service.set_cache_size(CacheSize())
    fake_client.crash()
    service.restart()
    qtbot.waitUntil(lambda: service.state.phase == "ready")
    assert service.cache == EngineOptions().cache


def test_records_flow_while_somebody_watches(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient
) -> None:
    fake_client.become_ready()
    first, second = object(), object()
    service.watch(first, True)
    service.watch(second, True)
    service.watch(first, False)
    with qtbot.waitSignal(service.records_arrived) as arrived:
        service.generate(HELLO)
    assert len(arrived.args[0]) > 100
    service.watch(second, False)
    assert not fake_client.watched


def test_counting_tokens_answers_also_when_nobody_can(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient
) -> None:
    counts: list[int] = []
    service.count_tokens(HELLO.messages, counts.append)
    qtbot.waitUntil(lambda: counts == [-1])
    fake_client.become_ready()
    service.count_tokens(HELLO.messages, counts.append)
    qtbot.waitUntil(lambda: counts == [-1, 5])


def test_jobs_report_progress_results_and_failures(
    qtbot: QtBot, service: EngineService, fake_jobs: FakeJobs
) -> None:
    stages: list[tuple[int, str, int, int]] = []
    service.job_progressed.connect(lambda *progress: stages.append(progress))
    with qtbot.waitSignal(service.job_done) as packed:
        pack = service.pack(Path("/models/a.gguf"))
    assert packed.args[0] == pack
    assert isinstance(packed.args[1], PackFile)
    assert [done for _, _, done, _ in stages] == [0, 1, 2, 3]
    with qtbot.waitSignal(service.job_done) as inspected:
        service.inspect(Path("/models/a.gguf"))
    assert isinstance(inspected.args[1], ModelInfo)
    fake_jobs.failures["/models/b.gguf"] = ("b.gguf is no GGUF.", "Choose another.")
    with qtbot.waitSignal(service.job_failed) as failed:
        service.inspect(Path("/models/b.gguf"))
    assert failed.args[1:] == ["b.gguf is no GGUF.", "Choose another.", False]
    with qtbot.waitSignal(service.job_failed) as stopped:
        service.cancel_job(service.pack(Path("/models/a.gguf")))
    assert stopped.args[3] is True


def test_closing_ends_replies_as_cancelled_and_loses_nothing_that_arrived(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient, fake_jobs: FakeJobs
) -> None:
    fake_client.become_ready()
    reply = service.generate(HELLO)
    qtbot.waitUntil(lambda: reply.n_tokens > 2)
    service.close()
    assert reply.result is not None
    assert reply.result.reason == "cancelled"
    assert fake_client.closed
    assert fake_jobs.closed


@pytest.mark.qt_no_exception_capture
def test_a_fault_of_one_who_asked_costs_nobody_else_an_event(
    qtbot: QtBot,
    service: EngineService,
    fake_client: FakeClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faults: list[object] = []
    monkeypatch.setattr("sys.excepthook", lambda kind, *_: faults.append(kind))
    fake_client.become_ready()
    service.count_tokens(HELLO.messages, lambda n: [][n])
    reply = service.generate(HELLO)
    qtbot.waitUntil(lambda: not reply.active)
    assert reply.text == REPLY
    assert faults == [IndexError]
