"""What measures a run keeps few of its records, however long it is."""

import types
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from engine import metrics, trace
from engine.bench import Bench, BenchPlan
from engine.bench_decode import decode
from engine.bench_run import _Traced
from engine.cache_size import CacheSize
from engine.cli import demo
from engine.cli.main import main
from engine.engine import Engine
from engine.last_steps import LastSteps
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.runlog import timeline
from engine.simulation.record import record_trace
from engine.steps_so_far import StepsSoFar
from engine.trace import Event
from tests.helpers.made_up_records import MadeUpRecords
from tests.helpers.models import tiny_model


@pytest.fixture
def share_kept(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """What share of the pieces that an engine gave away was kept at once, at most."""
    pieces: list[weakref.ref[trace.Records]] = []
    most = 0
    drain = Engine.drain_events

    def drained(engine: Engine) -> trace.Records:
        nonlocal most
        most = max(most, sum(piece() is not None for piece in pieces))
        records = drain(engine)
        pieces.append(weakref.ref(records))
        return records

    monkeypatch.setattr(Engine, "drain_events", drained)
    monkeypatch.setattr("engine.bench_run.StepsSoFar", partial(StepsSoFar, 0), raising=False)
    monkeypatch.setattr("engine.cli.demo.StepsSoFar", partial(StepsSoFar, 0), raising=False)
    monkeypatch.setattr(
        "engine.cli.demo.LastSteps", partial(LastSteps, piece_records=0), raising=False
    )

    def found() -> float:
        assert len(pieces) > 20
        return most / len(pieces)

    return found


def test_a_benchmark_keeps_few_records(
    fake: types.ModuleType, model: Path, share_kept: Callable[[], float]
) -> None:
    plan = BenchPlan(
        policies=("bevy",),
        requests=(2,),
        caches=(CacheSize(),),
        links=(LinkSpeed(),),
        steps=40,
        rounds=1,
        prompt_tokens=10,
    )
    with Engine.open(model, EngineOptions(store="memory", run_log=False, context=64)) as engine:
        (run,) = Bench(engine, plan).run().runs
    assert run.steps == 20
    assert share_kept() < 0.25


def test_the_demo_keeps_few_records_and_draws_the_same_timeline(
    fake: types.ModuleType,
    model: Path,
    home: Path,
    share_kept: Callable[[], float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[trace.Records] = []
    monkeypatch.setattr(timeline, "write_timeline", lambda records, *_, **__: drawn.append(records))
    assert main(["demo", "--model", str(model), "--max-tokens", "16"]) == 0
    assert share_kept() < 0.25
    (records,) = drawn
    steps = metrics.step_table(records)
    assert steps["requests"].max() == len(demo.DEMO_CHATS)


def test_a_recording_of_routing_keeps_no_records(share_kept: Callable[[], float]) -> None:
    options = EngineOptions(store="memory", run_log=False, context=128, cache=CacheSize())
    with Engine.open(tiny_model("q4_0"), options) as engine:
        record_trace(engine, 2, 40, prompt_tokens=8)
    assert share_kept() < 0.25


@pytest.mark.parametrize(
    "requests",
    [[3] * 30, [3] * 20 + [1] * 30, [1, 2, 3] * 10 + [2] * 9, [1] * 20 + [3] + [2] * 20, [2]],
)
def test_a_timeline_of_what_is_kept_is_that_of_everything(requests: Sequence[int]) -> None:
    made = MadeUpRecords()
    pieces = [made.next_step(list(range(n))) for n in requests]
    latest = LastSteps(piece_records=1000)
    for piece in pieces:
        latest.take(piece)
        assert len(latest.records()) < 6000
    everything = np.concatenate(pieces)
    shown = []
    for records in (everything, latest.records()):
        steps = metrics.step_table(records)
        steps = steps[timeline.last_of_most(steps["requests"], 2)]
        inside = (records["end_ns"] > steps["begin_ns"].min()) & (
            records["begin_ns"] < steps["end_ns"].max()
        )
        shown.append((steps, records[inside]))
    np.testing.assert_array_equal(shown[0][0], shown[1][0])
    np.testing.assert_array_equal(shown[0][1], shown[1][1])


def test_nothing_is_drawn_of_no_steps(tmp_path: Path) -> None:
    assert len(LastSteps().records()) == 0
    assert timeline.write_timeline(trace.empty(), tmp_path / "a.png") == 0


def test_sizes_of_groups_are_those_of_the_measured_steps(
    fake: types.ModuleType, model: Path
) -> None:
    came: list[trace.Records] = []
    with Engine.open(model, EngineOptions(store="memory", run_log=False, context=64)) as engine:
        prompts = [(1, 2, 3), (2, 3, 4)]
        decode(engine, prompts, 12, 0, lambda _: None, traced=came.append)
    traced = _Traced()
    for piece in came:
        traced.take(piece)
    records = np.concatenate(came)
    steps = metrics.step_table(records)[4:]
    groups = trace.of(records, Event.GROUP)
    inside = groups[np.isin(groups["step"], steps["step"])]
    assert traced.groups_of_size(steps) == list(metrics.group_sizes(inside))
