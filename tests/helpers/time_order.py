"""Where in a trace of the engine the order of events began to depend on how long things took.

The simulator's reader takes its next read the moment that it can, and its device has computed all
that it can before the next read ends. On a busy machine a thread may come late: the reader, so that
more has been routed meanwhile, or the engine thread, so that more has been read. Both are as right
as the simulator's order, but they are others.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine import trace
from engine.trace import Event, Records

# (step, layer, request): one job.
_Job = tuple[int, int, int]


def first_late(records: Records, unit_of: Callable[[int], int]) -> float:
    """The time of the first thing that a late thread may have changed, in ns; inf without one.

    Of decode steps with one reader and no prefetches. `unit_of` says of a request, numbered from 0,
    with which others it is computed: never before all of these are ready.
    """
    reads = trace.of(records, Event.FETCH)
    reads = reads[np.argsort(reads["begin_ns"], kind="stable")]
    groups = trace.of(records, Event.GROUP)
    return min(_reader_late(records, reads, groups), _engine_late(records, reads, groups, unit_of))


def _reader_late(records: Records, reads: Records, groups: Records) -> float:
    """A group ended between the moment that a read could begin and when it began."""
    wanted = np.sort(trace.of(records, Event.MISS)["begin_ns"])
    for n, read in enumerate(reads):
        free = reads[n - 1]["end_ns"] if n else 0
        # The read after n others is at least the n-th that was wanted.
        able = max(free, wanted[n])
        ends = groups["end_ns"]
        if ((ends > able) & (ends < read["begin_ns"])).any():
            return float(able)
    return np.inf


def _engine_late(
    records: Records, reads: Records, groups: Records, unit_of: Callable[[int], int]
) -> float:
    """A read ended between the moment that a group could begin and when its jobs were routed."""
    read_at = {_place(read): int(read["end_ns"]) for read in reads}
    ready: dict[_Job, int] = {}
    routed: dict[_Job, int] = {}
    issued = trace.of(records, Event.HIT, Event.JOIN, Event.MISS)
    first_request = int(issued["request"].min())
    for row in issued:
        job = (int(row["step"]), int(row["layer"]), int(row["request"]) - first_request)
        at = int(row["begin_ns"])
        routed[job] = max(routed.get(job, 0), at)
        if row["event"] != Event.HIT:
            at = max(at, read_at[_place(row)])
        ready[job] = max(ready.get(job, 0), at)
    late = np.inf
    for group in groups:
        step, layer = int(group["step"]), int(group["layer"])
        bits = int(group["b"]) >> (first_request % 32)
        requests = [n for n in range(32) if bits >> n & 1]
        units: dict[int, int] = {}
        for n in requests:
            units[unit_of(n)] = max(units.get(unit_of(n), 0), ready[step, layer, n])
        able = min(units.values())
        following = (routed.get((step, layer + 1, n), 0) for n in requests)
        done = max(int(group["end_ns"]), *following)
        ends = reads["end_ns"]
        if ((ends > able) & (ends < done)).any():
            late = min(late, able)
    return late


def _place(row: Any) -> tuple[int, int, int]:
    return int(row["step"]), int(row["layer"]), int(row["expert"])
