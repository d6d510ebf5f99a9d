"""The monitor's numbers are the engine's: records of the real engine, batch by batch."""

import time
from pathlib import Path

import numpy as np
import pytest

from app.monitor.history import History
from engine import trace
from engine.cache_size import CacheSize
from engine.engine import Engine
from engine.engine_info import EngineStats
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.sampling import SamplingParams
from engine.trace import Event
from tests.helpers.models import tiny_model

N_REQUESTS, N_TOKENS = 6, 24


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[History, trace.Records, EngineStats]:
    """Six requests under two policies and two cache sizes, watched from the first record on."""
    options = EngineOptions(
        store="memory",
        cache=CacheSize(fraction=0.6),
        n_threads=1,
        context=256,
        link=LinkSpeed.parse("200MB/s"),
        run_log=False,
    )
    batches: list[trace.Records] = []
    with Engine.open(Path(tiny_model()), options) as engine:
        history = History(engine.info.n_layer, engine.info.n_expert)
        for n in range(N_REQUESTS):
            params = SamplingParams(seed=n, max_tokens=N_TOKENS, ignore_end=True, temperature=1)
            engine.submit_prompt(f"Once upon a time {n}", params)
        n_polls, deadline = 0, time.monotonic() + 60
        while engine.stats().active_requests or n_polls < 20:
            assert time.monotonic() < deadline
            n_polls += 1
            engine.poll()
            if n_polls == 10:
                engine.set_policy("lockstep-lfu")
                engine.set_cache_size(CacheSize())
            batches.append(engine.drain_events())
            history.add(batches[-1])
            history.update_lanes()
            if n_polls % 3 == 0:
                history.update_steps()
            time.sleep(0.01)
        batches.append(engine.drain_events())
        history.add(batches[-1])
        for _ in range(2):
            history.update_steps()
        return history, np.concatenate(batches), engine.stats()


Run = tuple[History, trace.Records, EngineStats]


def test_every_token_of_a_step_is_counted_once(run: Run) -> None:
    history, _, stats = run
    rows = history.steps.rows
    assert len(rows) == stats.steps > N_TOKENS // 2
    # A reply's first token is prefill's.
    assert rows["requests"].sum() == N_REQUESTS * (N_TOKENS - 1)
    np.testing.assert_allclose(rows["tokens"].sum(axis=0)[:N_REQUESTS], N_TOKENS - 1)


def test_hits_are_those_that_were_recorded(run: Run) -> None:
    history, records, _ = run
    of_steps = records[records["step"] >= 0]
    for name, event in (("hits", Event.HIT), ("misses", Event.MISS), ("joined", Event.JOIN)):
        assert history.steps.rows[name].sum() == len(trace.of(of_steps, event)), name


def test_the_map_of_residents_is_the_cache(run: Run) -> None:
    history, _, stats = run
    assert history.experts.resident.sum() == stats.cache_in_use


def test_the_lanes_hold_every_group_and_read(run: Run) -> None:
    history, records, _ = run
    kept = history.lanes.device.records
    assert (kept["event"] == int(Event.GROUP)).sum() == len(trace.of(records, Event.GROUP))
    n_reads = sum(len(lane) for lane in history.lanes.readers.values())
    assert n_reads == len(trace.of(records, Event.FETCH, Event.PREFETCH)) > 0
    for lane in (history.lanes.device, *history.lanes.readers.values()):
        assert (lane.begins[1:] >= lane.ends[:-1]).all(), "a lane does one thing at a time"


def test_nobody_is_active_in_the_end(run: Run) -> None:
    assert run[0].active_requests() == []
