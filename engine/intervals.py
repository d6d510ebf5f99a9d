"""Sets of instants as sorted, disjoint intervals; all in integer nanoseconds, all vectorised."""

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]


class Intervals:
    """The union of intervals [begin, end); empty or reversed ones count as nothing."""

    def __init__(self, begins: Times, ends: Times):
        kept = ends > begins
        order = np.argsort(begins[kept], kind="stable")
        begins, ends = begins[kept][order], ends[kept][order]
        reach = np.maximum.accumulate(ends) if len(ends) else ends
        # A new interval opens where everything before has ended.
        opens = np.concatenate(([True], begins[1:] > reach[:-1])) if len(begins) else kept[:0]
        first = np.flatnonzero(opens)
        self.begins: Times = begins[first]
        self.ends: Times = reach[np.append(first[1:], len(begins)) - 1] if len(first) else reach
        self._before: Times = np.concatenate(([0], np.cumsum(self.ends - self.begins)))

    def __or__(self, other: "Intervals") -> "Intervals":
        return Intervals(
            np.concatenate((self.begins, other.begins)), np.concatenate((self.ends, other.ends))
        )

    def length_within(self, begins: Times, ends: Times) -> Times:
        """Nanoseconds of this set inside each window [begin, end)."""
        return np.asarray(self._length_until(ends) - self._length_until(begins), dtype=np.int64)

    def _length_until(self, t: Times) -> Times:
        if not len(self.begins):
            return np.zeros(len(t), dtype=np.int64)
        at = np.searchsorted(self.begins, t, side="right") - 1  # the last one that has begun; or -1
        inside = np.minimum(t, self.ends[at]) - self.begins[at]
        return np.where(at < 0, 0, self._before[np.maximum(at, 0)] + inside)
