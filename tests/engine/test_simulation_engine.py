"""The simulator decides what the engine decided: same hits, fetches and groups, in the same order.

The engine's link is so slow beside its compute, and read by one reader, that the order of events
does not depend on how long anything takes exactly; in virtual time it is the same. Only where a
busy machine kept a thread waiting may it be another. The trace tells where that was, by
tests/helpers/time_order.py; what was decided before is compared.

Policies that prefetch are left out: the reader that ends the last read of a layer wakes the engine
thread, which mostly takes its processor before it has begun the prefetch that the simulator begins
at that moment. Up to the first such moment their decisions are the same, too.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from engine import trace, workloads
from engine.bench_models.engine_routing import routing_of
from engine.cache_size import CacheSize
from engine.engine import Engine
from engine.events import Finished, Piece
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.request import Request
from engine.sampling import SamplingParams
from engine.simulation.machine import MachineModel
from engine.simulation.routing_trace import RoutingTrace
from engine.simulation.simulate import simulate
from engine.trace import Event, Records
from tests.helpers.models import tiny_model
from tests.helpers.time_order import first_late

N_STEP = 6
READ_MS = 8.0  # a group takes a few tenths
FRACTION = 0.5
N_TRY = 5  # to see a run in which no thread came late


def alone(request: int) -> int:
    return request


def together(_: int) -> int:
    return 0


def first_two(request: int) -> int:
    return request // 2


@pytest.fixture(scope="module")
def model() -> Path:
    return tiny_model("q4_0")


class Story(NamedTuple):
    """What was decided, in its order, with requests numbered from 0."""

    decisions: list[tuple[int, ...]]  # step, layer, request, expert, hit or join or miss, evicted
    reads: list[tuple[int, ...]]  # step, layer, expert
    groups: list[tuple[int, ...]]  # step, layer, jobs, requests as bits


def story_of(records: Records) -> Story:
    issued = trace.of(records, Event.HIT, Event.JOIN, Event.MISS)
    first_step, first_request = issued["step"].min(), issued["request"].min()

    def rows(found: Records, *names: str) -> list[tuple[int, ...]]:
        found = found.copy()
        found["step"] -= first_step
        found["request"] -= first_request
        return [tuple(int(row[name]) for name in names) for row in found]

    reads = trace.of(records, Event.FETCH, Event.PREFETCH)
    groups = trace.of(records, Event.GROUP)
    masks = [int(mask) >> int(first_request % 32) for mask in groups["b"]]
    return Story(
        rows(issued, "step", "layer", "request", "expert", "event", "b"),
        rows(reads[np.argsort(reads["begin_ns"], kind="stable")], "step", "layer", "expert"),
        [(*row, mask) for row, mask in zip(rows(groups, "step", "layer", "a"), masks, strict=True)],
    )


def run_engine(model: Path, policy: str, n_request: int) -> tuple[Records, int, int]:
    """Records of N_STEP steps from a cold cache on; experts per layer, bytes of each."""
    options = EngineOptions(
        store="memory",
        run_log=False,
        n_threads=1,
        n_readers=1,
        context=1024,
        policy=policy,
        cache=CacheSize(fraction=FRACTION),
    )
    with Engine.open(model, options) as engine:
        prompts = workloads.prompts("short", n_request, 6, engine.tokenize)
        waiting = {
            engine.submit(
                Request(
                    tokens=prompt,
                    # Steps are quick until this thread hears of the first and slows the link.
                    params=SamplingParams(max_tokens=1000, ignore_end=True),
                )
            )
            for prompt in prompts
        }
        running = set(waiting)
        records = []
        enough = 1 << 30  # steps
        while running:
            engine.wait(0.1)
            for event in engine.poll():
                if isinstance(event, Piece) and event.request in waiting:
                    waiting.discard(event.request)
                    if not waiting:
                        engine.set_link(LinkSpeed(round(engine.info.record_bytes / READ_MS * 1e3)))
                        engine.set_policy(policy, cold=True)
                        enough = engine.stats().steps + N_STEP + 2
                elif isinstance(event, Finished):
                    assert event.reason == "cancelled"
                    running.discard(event.request)
            if engine.stats().steps >= enough:
                for request in running:
                    engine.cancel(request)
            records.append(engine.drain_events())
        info = engine.info
    return _from_cold(np.concatenate(records), n_request), info.n_expert, info.record_bytes


def _from_cold(records: Records, n_request: int) -> Records:
    """From the first step with all requests on in which layer 0 finds and evicts nothing."""
    steps = trace.of(records, Event.STEP)
    full = steps["step"][steps["a"] == n_request]
    issued = trace.of(records, Event.HIT, Event.MISS)
    warm = issued[(issued["event"] == Event.HIT) | (issued["b"] >= 0)]
    cold = np.setdiff1d(full, warm["step"][warm["layer"] == 0])
    kept: Records = records[np.isin(records["step"], cold.min() + np.arange(N_STEP))]
    assert len(trace.of(kept, Event.STEP)) == N_STEP
    return kept


@pytest.mark.parametrize(
    ("policy", "n_request", "unit_of"),
    [
        ("bevy", 1, alone),
        ("bevy", 3, alone),
        ("runahead/fifo/global-srtf/lru/none", 3, alone),
        ("runahead/lowest-layer/fifo/lfu/none", 3, alone),
        ("static:2:1////", 3, first_two),
        ("lockstep-lfu", 3, together),
        ("llama.cpp", 3, together),
    ],
)
def test_the_simulator_decides_what_the_engine_decided(
    model: Path, policy: str, n_request: int, unit_of: Callable[[int], int]
) -> None:
    compared = 0.0  # of the decisions, in the best try
    for _ in range(N_TRY):
        records, n_expert, record_bytes = run_engine(model, policy, n_request)
        assert len(trace.of(records, Event.FETCH)) > N_STEP
        late = first_late(records, unit_of)
        decided = story_of(records[records["begin_ns"] < late])
        simulated = story_of(simulated_records(records, policy, n_request, n_expert, record_bytes))
        assert decided.decisions == simulated.decisions[: len(decided.decisions)]
        assert decided.reads == simulated.reads[: len(decided.reads)]
        assert decided.groups == simulated.groups[: len(decided.groups)]
        if late == np.inf:
            assert decided == simulated
            return
        # With one request, or all together, everything that is wanted is read before more can be.
        assert n_request > 1 and unit_of is not together
        compared = max(compared, len(decided.decisions) / len(simulated.decisions))
    if compared < 0.5:
        pytest.skip(
            f"this machine is too busy: only {compared:.0%} of the decisions are comparable"
        )


def simulated_records(
    records: Records, policy: str, n_request: int, n_expert: int, record_bytes: int
) -> Records:
    """The same routing on a machine with the same link."""
    machine = MachineModel(
        name="slow link",
        title="",
        source="",
        front_ms=0.1,
        group_ms=0.1,
        expert_ms=0.0,
        job_ms=0.0,
        head_ms=0.1,
        link_bytes_per_s=record_bytes / READ_MS * 1e3,
        link_latency_ms=0.0,
        n_readers=1,
        interference=0.0,
    )
    experts = routing_of(records, n_request).astype(np.int16)
    return simulate(
        RoutingTrace(experts, None, None, "", record_bytes, n_expert),
        machine=machine,
        policy=policy,
        cache_fraction=FRACTION,
        timeline=True,
    ).records
