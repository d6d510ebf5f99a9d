"""StepRows: what each step took and gave, from the first to the last, in bounded memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

N_COLOURS = 16

# Sums over the steps of a row; "steps" is how many they are.
SUMMED = (
    *("steps", "requests", "groups", "jobs", "step_ms", "compute_busy_ms", "link_busy_ms"),
    *("both_busy_ms", "neither_ms", "hits", "misses", "joined", "fetched", "prefetched"),
    *("wasted", "link_bytes"),
)
ROW_DTYPE = np.dtype(
    [
        ("begin_ns", np.int64),
        ("end_ns", np.int64),
        *((name, np.float64) for name in SUMMED),
        ("tokens", np.float32, (N_COLOURS,)),  # by the colour of their request
    ]
)

Rows = NDArray[np.void]
Floats = NDArray[np.float64]

MOST_ROWS = 8192
_FIRST_WIDTH_NS = 500_000_000


class StepRows:
    """Rows in the order of time. When there are too many, old neighbours become one row.

    Old rows end up about equally long, and longer the longer the run: a run of any length takes the
    same memory, and sums over any time stay true.
    """

    def __init__(self, most: int = MOST_ROWS) -> None:
        self._whole = most // 2  # of these, the newest half at least stay single steps
        self._rows: Rows = np.zeros(most, dtype=ROW_DTYPE)
        self._n = 0
        self._width_ns = _FIRST_WIDTH_NS
        self._sums: dict[str, Floats] = {}  # of the rows as they are now

    def __len__(self) -> int:
        return self._n

    @property
    def rows(self) -> Rows:
        """All rows; a view."""
        kept: Any = self._rows[: self._n]
        return kept  # type: ignore[no-any-return]

    def append(self, rows: Rows) -> None:
        """Add newer steps."""
        for at in range(0, len(rows), self._whole):
            part = rows[at : at + self._whole]
            while self._n + len(part) > len(self._rows):
                self._thin()
            self._rows[self._n : self._n + len(part)] = part
            self._n += len(part)
        self._sums = {}

    def last(self, duration_ns: int, until_ns: int) -> Rows:
        """The rows that end in the last `duration_ns` before `until_ns`."""
        first = int(np.searchsorted(self.rows["end_ns"], until_ns - duration_ns, side="right"))
        kept: Any = self.rows[first:]
        return kept  # type: ignore[no-any-return]

    def per_bin(self, name: str, edges: NDArray[np.int64]) -> Floats:
        """How much of a sum falls between each two edges; [len(edges) - 1], of rows spread evenly.

        For "tokens": [len(edges) - 1, N_COLOURS].
        """
        rows = self.rows
        if not len(rows):
            shape = (len(edges) - 1, N_COLOURS) if name == "tokens" else (len(edges) - 1,)
            return np.zeros(shape)
        if "times" not in self._sums:
            times = np.empty(2 * len(rows))
            times[0::2], times[1::2] = rows["begin_ns"], rows["end_ns"]
            self._sums["times"] = np.maximum.accumulate(times)
        if name not in self._sums:
            self._sums[name] = _running(rows[name])
        times, sums = self._sums["times"], self._sums[name]
        at = edges.astype(np.float64)
        if sums.ndim == 1:
            return np.diff(np.interp(at, times, sums))
        used = np.flatnonzero(sums[-1] > sums[0])
        found = np.zeros((len(edges) - 1, sums.shape[1]))
        for column in used.tolist():
            found[:, column] = np.diff(np.interp(at, times, sums[:, column]))
        return found

    def _thin(self) -> None:
        n_old = max(2, self._n - self._whole // 2)
        old = self.rows[:n_old]
        while True:
            merged = _merge(old, self._width_ns)
            if len(merged) <= self._whole // 2:
                break
            self._width_ns *= 2
        rest = self._rows[n_old : self._n].copy()
        self._n = len(merged) + len(rest)
        self._rows[: len(merged)] = merged
        self._rows[len(merged) : self._n] = rest


def _running(values: NDArray[Any]) -> Floats:
    """The sum until each row's begin and end: flat between rows."""
    sums = np.zeros((2 * len(values), *values.shape[1:]))
    sums[1::2] = np.cumsum(values, axis=0, dtype=np.float64)
    sums[2::2] = sums[1:-1:2]
    return sums


def _merge(rows: Rows, width_ns: int) -> Rows:
    """Rows that begin in the same `width_ns` become one."""
    bucket = rows["begin_ns"] // width_ns
    first = np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
    merged = np.zeros(len(first), dtype=ROW_DTYPE)
    merged["begin_ns"] = rows["begin_ns"][first]
    merged["end_ns"] = np.maximum.reduceat(rows["end_ns"], first)
    for name in (*SUMMED, "tokens"):
        merged[name] = np.add.reduceat(rows[name], first, axis=0)
    return merged
