"""History: everything the monitor shows, made from trace records as they arrive. No widget here.

`add` only keeps a batch. `update_lanes`, once per frame, sorts what has come into the timeline's
lanes; `update_steps`, a few times a second, adds a row for every step that has ended. So the cost
does not depend on how many batches the records come in.
"""

from collections import deque
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from app.monitor.expert_map import ExpertMap
from app.monitor.lanes import Lanes
from app.monitor.step_rows import N_COLOURS, ROW_DTYPE, SUMMED, Rows, StepRows
from engine import metrics, trace
from engine.trace import Event, Records

MOST_WAITING = 1 << 17  # records that belong to no step that has ended
MOST_MARKERS = 200
MOST_REQUESTS = 4096
_SAME_CHANGE_NS = 1_000_000_000
_SILENT_NS = 30_000_000_000  # of a request: it has ended, and the record of that was lost


class Setup(msgspec.Struct, frozen=True):
    """The settings that hold, in words."""

    policy: str = ""
    cache: str = ""
    link: str = ""


NO_SETUP = Setup()


class Marker(msgspec.Struct, frozen=True):
    """A setting was changed.

    Attributes:
        kind: Which one; a newer one of the same kind soon after takes its place.
        setup: What holds from then on.
    """

    time_ns: int
    kind: str
    text: str
    setup: Setup = NO_SETUP


class History:
    """Bounded in everything it keeps, however long the run.

    Attributes:
        lanes: The last minute in detail.
        steps: A row per step, thinned when old.
        experts: Residency and use.
        markers: Changes of settings, oldest first.
        first_setup: The settings before the first marker.
    """

    def __init__(self, n_layer: int = 0, n_expert: int = 0, most_rows: int | None = None):
        self.lanes = Lanes()
        self.steps = StepRows() if most_rows is None else StepRows(most_rows)
        self.experts = ExpertMap(n_layer, n_expert)
        self.markers: deque[Marker] = deque(maxlen=MOST_MARKERS)
        self.first_setup = NO_SETUP
        self._arrived: list[Records] = []
        self._waiting: list[Records] = []
        self._n_ready = 0  # of the waiting: those that were there at the last update
        self._requests: dict[int, int] = {}  # active request -> when it was last seen
        self._ended: deque[tuple[int, int]] = deque(maxlen=MOST_REQUESTS)

    @property
    def empty(self) -> bool:
        """Nothing has arrived yet."""
        return self.lanes.latest_ns == 0 and not self._arrived

    @property
    def latest_ns(self) -> int:
        """The newest instant that is known of."""
        return self.lanes.latest_ns

    def add(self, records: Records) -> None:
        """Keep a batch; batches need not end where steps do."""
        if len(records):
            self._arrived.append(records)

    def mark(self, kind: str, text: str, setup: Setup = NO_SETUP) -> None:
        """A setting was changed now."""
        last = self.markers[-1] if self.markers else None
        if last and last.kind == kind and self.latest_ns - last.time_ns < _SAME_CHANGE_NS:
            self.markers.pop()  # a slider that is being dragged
        self.markers.append(Marker(self.latest_ns, kind, text, setup))

    def records_missed(self) -> None:
        """There was a time without records, so what was true of the cache may no longer be."""
        self.experts.forget_residents()

    def update_lanes(self) -> bool:
        """Sort in what has arrived; False when that was nothing."""
        if not self._arrived:
            return False
        records = _joined(self._arrived)
        self._arrived = []
        self.lanes.add(records)
        self._waiting.append(records)
        return True

    def update_steps(self) -> bool:
        """Add the steps that have ended; False when there is none.

        Each thread's records come in order, but not those of different threads: a read may come
        one batch after the end of its step. So a step waits until the update after the one that
        brought its end.
        """
        self.update_lanes()
        waiting = _joined(self._waiting)
        ready, self._n_ready = waiting[: self._n_ready], len(waiting)
        ends = trace.of(ready, Event.STEP)["end_ns"]
        if len(ends):
            self._close_steps(waiting, int(ends.max()))
            waiting = waiting[waiting["end_ns"] > ends.max()]
            self._n_ready = len(waiting)
        waiting = waiting[-MOST_WAITING:]
        self._n_ready = min(self._n_ready, len(waiting))
        self._waiting = [waiting] if len(waiting) else []
        return len(ends) > 0

    def active_requests(self) -> list[int]:
        """Requests that have been seen and have not ended, in order."""
        return sorted(self._requests)

    def requests_of(self, mask: int, time_ns: int) -> list[int]:
        """The requests behind the bits (number modulo 32) of a group."""
        alive = self._requests.keys() | {r for r, end in self._ended if end >= time_ns}
        by_bit: dict[int, int] = {}
        for request in sorted(alive, reverse=True):
            by_bit[request % 32] = request  # of two, the older one: it was there first
        return sorted(by_bit[bit] for bit in range(32) if mask >> bit & 1 and bit in by_bit)

    def group_sizes(self, begin_ns: int) -> NDArray[np.int64]:
        """How many groups since then had 0, 1, 2 ... jobs."""
        device = self.lanes.device
        return metrics.group_sizes(device.records[device.window(begin_ns, self.latest_ns)])

    def summary(self, duration_ns: int) -> metrics.Summary:
        """Means over the steps that ended in the last `duration_ns`."""
        return summarise(self.steps.last(duration_ns, self.latest_ns))

    def _close_steps(self, records: Records, until: int) -> None:
        inside = records[records["begin_ns"] <= until]
        table = metrics.step_table(inside)
        table = table[table["end_ns"] <= until]
        rows = np.zeros(len(table), dtype=ROW_DTYPE)
        rows["begin_ns"], rows["end_ns"] = table["begin_ns"], table["end_ns"]
        for name in SUMMED:
            rows[name] = 1 if name == "steps" else table[name]
        decisions = trace.of(inside, Event.HIT, Event.JOIN, Event.MISS)
        rows["tokens"] = _tokens(table, decisions)
        self.steps.append(rows)
        self.experts.add(records[records["end_ns"] <= until])
        self._follow_requests(inside)

    def _follow_requests(self, records: Records) -> None:
        latest = int(records["end_ns"].max())
        for request in np.unique(records["request"]).tolist():
            if request >= 0:
                self._requests[request] = latest
        ended = {
            int(row["request"]): int(row["end_ns"]) for row in trace.of(records, Event.REQUEST)
        }
        for request, seen in self._requests.items():
            if seen < latest - _SILENT_NS:
                ended.setdefault(request, seen)
        for request, when in ended.items():
            if self._requests.pop(request, None) is not None:
                self._ended.append((request, when))


def summarise(rows: Rows) -> metrics.Summary:
    """Means over the steps in these rows."""
    n = float(rows["steps"].sum())
    if n == 0:
        return metrics.Summary()
    sums = {name: float(rows[name].sum()) for name in SUMMED}
    needed = sums["hits"] + sums["misses"] + sums["joined"]
    wall_s = float(rows["end_ns"].max() - rows["begin_ns"].min()) / 1e9
    means = (
        *("step_ms", "compute_busy_ms", "link_busy_ms", "both_busy_ms", "neither_ms"),
        *("fetched", "prefetched", "wasted", "link_bytes"),
    )
    return metrics.Summary(
        steps=round(n),
        tokens=round(sums["requests"]),
        tokens_per_s=sums["requests"] / wall_s if wall_s > 0 else 0.0,
        hit_rate=sums["hits"] / needed if needed else 0.0,
        group_size=sums["jobs"] / max(1.0, sums["groups"]),
        **{name: sums[name] / n for name in means},
    )


def _joined(batches: list[Records]) -> Records:
    if len(batches) == 1:
        return batches[0]
    return np.concatenate(batches) if batches else trace.empty()


def _tokens(table: metrics.Steps, decisions: Records) -> NDArray[np.float32]:
    """[len(table), N_COLOURS]: each request that took part in a step got one token."""
    tokens = np.zeros((len(table), N_COLOURS), dtype=np.float32)
    decisions = decisions[(decisions["step"] >= 0) & (decisions["request"] >= 0)]
    if not len(table) or not len(decisions):
        return tokens
    key = decisions["step"].astype(np.int64) << 32 | decisions["request"]
    key = np.unique(key)
    steps, requests = key >> 32, key & 0xFFFFFFFF
    at = np.minimum(np.searchsorted(table["step"], steps), len(table) - 1)
    known: Any = table["step"][at] == steps
    np.add.at(tokens, (at[known], requests[known] % N_COLOURS), 1)
    return tokens
