"""Subtasks on the real engine: side by side, through its death and a second start."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.conversations import Conversations
from app.data.task import Task
from app.engine_service import EngineService
from app.settings.sampling_preset import SamplingPreset
from app.settings.settings import Settings
from app.subtasks.task_runs import TaskRuns
from engine.client import EngineClient
from engine.options import EngineOptions
from engine.sampling import SamplingParams
from tests.helpers.fake_jobs import FakeJobs
from tests.helpers.models import tiny_model

WAIT_MS = 60_000
ITEMS = ["Rome", "Paris", "Berlin", "Oslo", "Bern", "Riga"]


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


@pytest.fixture
def service(qapp: object, client: EngineClient) -> Iterator[EngineService]:
    service = EngineService(client, FakeJobs())
    yield service
    service.close()


def load(service: EngineService, qtbot: QtBot) -> None:
    service.load(tiny_model(), EngineOptions(max_requests=3, context=512, run_log=False))
    qtbot.waitUntil(lambda: service.state.phase == "ready", timeout=WAIT_MS)


def long_preset(settings: Settings, n_tokens: int) -> str:
    params = SamplingParams(max_tokens=n_tokens, temperature=0, ignore_end=True)
    settings.set("presets", [SamplingPreset(f"{n_tokens} tokens", params, fixed_seed=True)])
    return f"{n_tokens} tokens"


@pytest.mark.slow
def test_a_task_survives_the_engines_death_and_a_second_start(
    service: EngineService,
    client: EngineClient,
    conversations: Conversations,
    settings: Settings,
    home: Path,
    qtbot: QtBot,
) -> None:
    load(service, qtbot)
    runs = TaskRuns(service, conversations, settings)
    task = Task(id="", title="", prompt="Tell me of {item}", preset=long_preset(settings, 120))
    run = runs.create(task, ITEMS)
    run.run_rest()
    qtbot.waitUntil(lambda: len([n for n in range(6) if run.live(n)]) == 3, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: run.tokens_per_s > 0, timeout=WAIT_MS)
    assert client.pid is not None
    os.kill(client.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: bool(run.trouble), timeout=WAIT_MS)
    assert not run.is_active
    assert run.n_unfinished > 0
    assert {item.state for item in run.items} <= {"done", "failed", "waiting"}
    assert any(item.state == "failed" and run.answer(item.place) for item in run.items)

    service.restart()
    qtbot.waitUntil(lambda: service.state.phase == "ready", timeout=WAIT_MS)
    run.run_rest()
    qtbot.waitUntil(lambda: not run.is_active, timeout=WAIT_MS)
    assert [item.state for item in run.items] == ["done"] * 6
    answers = [run.answer(place) for place in range(6)]
    # A session that goes on with the next item keeps what both have in common.
    results = [reply.result for place in range(6) if (reply := run.reply(place))]
    assert sum(result.reused_tokens > 0 for result in results if result) >= 3
    assert all(result.n_tokens == 120 for result in results if result)

    conversations.close()
    again = Conversations(home / "conversations.sqlite")
    second = TaskRuns(service, again, settings)
    [found] = second.all()
    assert [found.answer(place) for place in range(6)] == answers
    again.close()
