"""Per-step metrics, derived from trace records.

Compute is busy while the device runs anything (front, group, head, wave); the link is busy while
any reader has a fetch or prefetch. Both are unions of intervals clipped to the step, so that
step = compute + link - both + neither.
"""

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine import trace
from engine.intervals import Intervals
from engine.trace import Event, Records

COMPUTE_EVENTS = (Event.FRONT, Event.GROUP, Event.HEAD, Event.WAVE)
LINK_EVENTS = (Event.FETCH, Event.PREFETCH)

STEP_DTYPE = np.dtype(
    [
        ("step", np.int64),
        ("begin_ns", np.int64),
        ("end_ns", np.int64),
        ("requests", np.int64),
        ("groups", np.int64),
        ("jobs", np.int64),  # over all groups; jobs / groups is the mean group size
        ("step_ms", np.float64),
        ("compute_busy_ms", np.float64),
        ("link_busy_ms", np.float64),
        ("both_busy_ms", np.float64),
        ("neither_ms", np.float64),
        ("hits", np.int64),
        ("misses", np.int64),
        ("joined", np.int64),
        ("fetched", np.int64),  # experts read, prefetches included
        ("prefetched", np.int64),
        ("wasted", np.int64),  # of this step's prefetches: not used in it
        ("link_bytes", np.int64),  # of all reads
        ("scheduler_ms", np.float64),
    ]
)

# A structured array of STEP_DTYPE, in the order of time.
Steps = NDArray[np.void]


class Summary(msgspec.Struct, frozen=True):
    """Means over steps; `tokens_per_s` counts the time between them too."""

    steps: int = 0
    tokens: int = 0
    tokens_per_s: float = 0.0
    step_ms: float = 0.0
    compute_busy_ms: float = 0.0
    link_busy_ms: float = 0.0
    both_busy_ms: float = 0.0
    neither_ms: float = 0.0
    hit_rate: float = 0.0
    fetched: float = 0.0
    prefetched: float = 0.0
    wasted: float = 0.0
    link_bytes: float = 0.0
    group_size: float = 0.0
    scheduler_ms: float = 0.0

    @property
    def compute_share(self) -> float:
        """Compute-busy time over step time."""
        return self.compute_busy_ms / self.step_ms if self.step_ms else 0.0

    @property
    def link_share(self) -> float:
        """Link-busy time over step time."""
        return self.link_busy_ms / self.step_ms if self.step_ms else 0.0

    @property
    def both_share(self) -> float:
        """Time in which both are busy over step time."""
        return self.both_busy_ms / self.step_ms if self.step_ms else 0.0

    @property
    def link_gbps(self) -> float:
        """Gigabytes per second that the link gave while it was busy."""
        return self.link_bytes / (self.link_busy_ms * 1e6) if self.link_busy_ms else 0.0


def step_table(records: Records) -> Steps:
    """One row per finished decode step."""
    found = trace.of(records, Event.STEP)
    found = found[np.argsort(found["begin_ns"], kind="stable")]
    table = np.zeros(len(found), dtype=STEP_DTYPE)
    begins, ends = found["begin_ns"], found["end_ns"]
    compute = _intervals(trace.of(records, *COMPUTE_EVENTS))
    link = _intervals(trace.of(records, *LINK_EVENTS))
    compute_ns = compute.length_within(begins, ends)
    link_ns = link.length_within(begins, ends)
    either_ns = (compute | link).length_within(begins, ends)
    table["step"], table["begin_ns"], table["end_ns"] = found["step"], begins, ends
    table["requests"] = found["a"]
    table["step_ms"] = (ends - begins) / 1e6
    table["compute_busy_ms"] = compute_ns / 1e6
    table["link_busy_ms"] = link_ns / 1e6
    table["both_busy_ms"] = (compute_ns + link_ns - either_ns) / 1e6
    table["neither_ms"] = (ends - begins - either_ns) / 1e6

    groups = trace.of(records, Event.GROUP)
    scheduler = trace.of(records, Event.SCHEDULER)
    table["groups"] = _per_step(table, groups["step"])
    table["jobs"] = _per_step(table, groups["step"], groups["a"])
    table["hits"] = _per_step(table, trace.of(records, Event.HIT)["step"])
    table["misses"] = _per_step(table, trace.of(records, Event.MISS)["step"])
    table["joined"] = _per_step(table, trace.of(records, Event.JOIN)["step"])
    whole = records[records["part"] == 0]  # an expert read in parts counts once
    table["fetched"] = _begun_within(begins, ends, trace.of(whole, *LINK_EVENTS))
    table["prefetched"] = _begun_within(begins, ends, trace.of(whole, Event.PREFETCH))
    table["wasted"] = _per_step(table, _wasted(records)["step"])
    reads = trace.of(records, *LINK_EVENTS)
    table["link_bytes"] = _begun_within(begins, ends, reads, reads["a"])
    spent = scheduler["end_ns"] - scheduler["begin_ns"]
    table["scheduler_ms"] = _per_step(table, scheduler["step"], spent) / 1e6
    return table


def summarise(steps: Steps) -> Summary:
    """Means over these steps; all zero when there are none."""
    n = len(steps)
    if n == 0:
        return Summary()
    tokens = int(steps["requests"].sum())
    needed = int(steps["hits"].sum() + steps["misses"].sum() + steps["joined"].sum())
    wall_s = float(steps["end_ns"].max() - steps["begin_ns"].min()) / 1e9

    def mean(name: str) -> float:
        return float(steps[name].sum()) / n

    return Summary(
        steps=n,
        tokens=tokens,
        tokens_per_s=tokens / wall_s if wall_s > 0 else 0.0,
        step_ms=mean("step_ms"),
        compute_busy_ms=mean("compute_busy_ms"),
        link_busy_ms=mean("link_busy_ms"),
        both_busy_ms=mean("both_busy_ms"),
        neither_ms=mean("neither_ms"),
        hit_rate=float(steps["hits"].sum()) / needed if needed else 0.0,
        fetched=mean("fetched"),
        prefetched=mean("prefetched"),
        wasted=mean("wasted"),
        link_bytes=mean("link_bytes"),
        group_size=float(steps["jobs"].sum()) / max(1, int(steps["groups"].sum())),
        scheduler_ms=mean("scheduler_ms"),
    )


def group_sizes(records: Records) -> NDArray[np.int64]:
    """How many groups had 0, 1, 2 ... jobs."""
    return np.bincount(trace.of(records, Event.GROUP)["a"].astype(np.int64)).astype(np.int64)


def request_speeds(records: Records) -> dict[int, float]:
    """Tokens per second of each request, over the decode steps in which it took part."""
    steps = trace.of(records, Event.STEP)
    steps = steps[np.argsort(steps["step"], kind="stable")]
    issued = trace.of(records, Event.HIT, Event.JOIN, Event.MISS)
    issued = issued[np.isin(issued["step"], steps["step"]) & (issued["request"] >= 0)]
    speeds = {}
    for request in np.unique(issued["request"]):
        own = np.unique(issued["step"][issued["request"] == request])
        rows = steps[np.searchsorted(steps["step"], own)]
        wall_s = float(rows["end_ns"].max() - rows["begin_ns"].min()) / 1e9
        speeds[int(request)] = len(own) / wall_s if wall_s > 0 else 0.0
    return speeds


def _intervals(records: Records) -> Intervals:
    return Intervals(records["begin_ns"], records["end_ns"])


def _per_step(
    table: Steps, steps: NDArray[np.int32], weights: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Sum of weights (or the count) of the entries of each of the table's steps."""
    sums = np.zeros(len(table), dtype=np.int64)
    if len(table) == 0 or len(steps) == 0:
        return sums
    order = np.argsort(table["step"], kind="stable")
    at = np.minimum(np.searchsorted(table["step"][order], steps), len(table) - 1)
    known = table["step"][order][at] == steps
    np.add.at(sums, order[at[known]], 1 if weights is None else weights[known])
    return sums


def _begun_within(
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    records: Records,
    weights: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """How many records (or the sum of their weights) began within each step.

    What prefill reads between steps is left out.
    """
    sums = np.zeros(len(begins), dtype=np.int64)
    if len(begins) == 0:
        return sums
    at = np.searchsorted(begins, records["begin_ns"], side="right") - 1
    inside = (at >= 0) & (records["begin_ns"] <= ends[at])
    np.add.at(sums, at[inside], 1 if weights is None else weights[inside])
    return sums


def _wasted(records: Records) -> Records:
    """Prefetches whose expert no job of the same step found from then on, present or on its way.

    A job can join a read that has not begun yet, so a join counts whenever it was in the step.
    """
    fate = trace.of(records, Event.PREFETCH, Event.HIT, Event.JOIN)
    if len(fate) == 0:
        return fate
    # By step and expert, then time.
    found = np.where(fate["event"] == int(Event.JOIN), np.iinfo(np.int64).max, fate["begin_ns"])
    fate = fate[np.lexsort((found, fate["expert"], fate["layer"], fate["step"]))]
    changes = np.zeros(len(fate), dtype=bool)
    for field in ("step", "layer", "expert"):
        changes[1:] |= fate[field][1:] != fate[field][:-1]
    same = np.cumsum(changes)
    is_use = fate["event"] != int(Event.PREFETCH)
    places = np.arange(len(fate))
    last_use = np.full(same[-1] + 1, -1)
    np.maximum.at(last_use, same[is_use], places[is_use])
    wasted: Records = fate[~is_use & (last_use[same] < places)]
    return wasted
