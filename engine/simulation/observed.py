"""Observed: a run's steps cut into the parts that a MachineModel has costs for.

A step is cut where the cache decides (HIT, JOIN, MISS), so that nothing is left over: what the
engine spends between two graphs belongs to the part before.

    front   from the step's begin to the last decision for layer 0
    wait    from the last decision for a layer to its group: reading what is missing (lockstep only)
    group   from its begin to the last decision for its requests' next layer, or to its end
    head    from the end of the last group to the step's end
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import trace
from engine.bench_models.engine_routing import routing_of
from engine.intervals import Intervals
from engine.trace import Event, Records

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Observed:
    """The steps in which all `n_request` requests took part; times in ms.

    Attributes:
        experts: [n_step, n_request, n_layer, n_used], as they were routed.
        tokens: [n_step, n_request], the number of the token that each request decoded; the first
            after its prompt's is 0.
        groups: [n, 4]: distinct experts, jobs, duration, and how much of it bytes were read.
        waits: [n, 2]: experts read, duration; of lockstep runs only.
    """

    n_request: int
    experts: NDArray[np.int32]
    tokens: NDArray[np.int64]
    step_ms: Numbers
    front_ms: Numbers
    head_ms: Numbers
    groups: Numbers
    waits: Numbers


def observe(records: Records, n_request: int, *, lockstep: bool) -> Observed:
    """Cut the steps of a run apart. Steps that shared waves are left out."""
    steps = _whole_steps(records, n_request)
    tokens = _tokens(records, steps, n_request)
    records = records[np.isin(records["step"], steps["step"])]
    decisions = trace.of(records, Event.HIT, Event.JOIN, Event.MISS)
    groups = trace.of(records, Event.GROUP)
    groups = groups[np.argsort(groups["begin_ns"], kind="stable")]
    reads = trace.of(records, Event.FETCH, Event.PREFETCH)
    link = Intervals(reads["begin_ns"], reads["end_ns"])

    front_ms, head_ms = [], []
    cut_groups: list[tuple[float, float, float, float]] = []
    cut_waits: list[tuple[float, float]] = []
    for step in steps:
        own = decisions[decisions["step"] == step["step"]]
        own_groups = groups[groups["step"] == step["step"]]
        front_ms.append(_ms(step["begin_ns"], own["end_ns"][own["layer"] == 0].max()))
        head_ms.append(_ms(own_groups["end_ns"].max(), step["end_ns"]))
        for group in own_groups:
            jobs = own[_bits(own["request"], int(group["b"]))]
            here = jobs[jobs["layer"] == group["layer"]]
            after = jobs[jobs["layer"] == group["layer"] + 1]
            end = after["end_ns"].max(initial=group["end_ns"])
            begin = group["begin_ns"]
            cut_groups.append(
                (
                    len(np.unique(here["expert"])),
                    int(group["a"]),
                    _ms(begin, end),
                    float(link.length_within(np.array([begin]), np.array([end]))[0]) / 1e6,
                )
            )
            n_missed = int((here["event"] == int(Event.MISS)).sum())
            if lockstep and n_missed:
                cut_waits.append((n_missed, _ms(here["end_ns"].max(), begin)))
    return Observed(
        n_request=n_request,
        experts=routing_of(records, n_request),
        tokens=tokens,
        step_ms=(steps["end_ns"] - steps["begin_ns"]) / 1e6,
        front_ms=np.array(front_ms),
        head_ms=np.array(head_ms),
        groups=np.array(cut_groups, dtype=np.float64).reshape(-1, 4),
        waits=np.array(cut_waits, dtype=np.float64).reshape(-1, 2),
    )


def _whole_steps(records: Records, n_request: int) -> Records:
    """STEP records, in the order of time, of steps that routed all requests to all layers."""
    steps = trace.of(records, Event.STEP)
    steps = steps[(steps["a"] == n_request) & (steps["step"] >= 0)]
    in_waves = np.unique(trace.of(records, Event.WAVE)["step"])
    steps = steps[~np.isin(steps["step"], in_waves)]
    decisions = trace.of(records, Event.HIT, Event.JOIN, Event.MISS)
    # Prefill's decisions carry the number of the step before, which has fewer requests.
    decisions = decisions[np.isin(decisions["step"], steps["step"])]
    found, counts = np.unique(decisions["step"], return_counts=True)
    whole = found[counts == counts.max(initial=0)]
    kept: Records = steps[np.isin(steps["step"], whole)]
    return kept[np.argsort(kept["begin_ns"], kind="stable")]


def _tokens(records: Records, steps: Records, n_request: int) -> NDArray[np.int64]:
    """Requests begin in their order, and from then on take part in every step."""
    every = trace.of(records, Event.STEP)
    begins = [int(every["step"][every["a"] > r].min(initial=2**31 - 1)) for r in range(n_request)]
    return np.asarray(steps["step"][:, None] - np.array(begins), dtype=np.int64)


def _bits(requests: NDArray[np.int32], mask: int) -> NDArray[np.bool_]:
    """Which requests a group's mask names; a run has fewer than 32, so no two share a bit."""
    return np.asarray((mask >> (requests.astype(np.int64) % 32)) & 1, dtype=np.bool_)


def _ms(begin_ns: int, end_ns: int) -> float:
    return float(end_ns - begin_ns) / 1e6
