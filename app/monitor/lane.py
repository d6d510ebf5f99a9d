"""Lane: the newest records of one thing that does one thing at a time: the device, or a reader."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import trace
from engine.trace import Records

Times = NDArray[np.int64]


class Lane:
    """Records in the order of time; the oldest go when there are more than `capacity`.

    Records of one thread come in the order in which they ended and do not overlap, so begins and
    ends are both sorted, and any window of time is a slice.
    """

    def __init__(self, capacity: int):
        self._capacity = capacity
        self._records: Records = np.zeros(min(1024, 2 * capacity), dtype=trace.RECORD_DTYPE)
        # Beside the records, since a search over a strided field would copy it each time.
        self._begins: Times = np.zeros(len(self._records), dtype=np.int64)
        self._ends: Times = np.zeros(len(self._records), dtype=np.int64)
        self._first = self._last = 0

    def __len__(self) -> int:
        return self._last - self._first

    @property
    def records(self) -> Records:
        """All that are kept; a view."""
        kept: Any = self._records[self._first : self._last]
        return kept  # type: ignore[no-any-return]

    @property
    def begins(self) -> Times:
        """Of `records`, ns."""
        return self._begins[self._first : self._last]

    @property
    def ends(self) -> Times:
        """Of `records`, ns."""
        return self._ends[self._first : self._last]

    def append(self, records: Records) -> None:
        """Add newer records."""
        records = records[-self._capacity :]
        n = len(records)
        if n == 0:
            return
        if self._last + n > len(self._records):
            self._make_room(n)
        place = slice(self._last, self._last + n)
        self._records[place] = records
        self._begins[place] = records["begin_ns"]
        self._ends[place] = records["end_ns"]
        self._last += n
        self._first = max(self._first, self._last - self._capacity)

    def window(self, begin: int, end: int) -> slice:
        """Where the records that overlap [begin, end) are in `records`, `begins` and `ends`."""
        first = int(np.searchsorted(self.ends, begin, side="right"))
        last = int(np.searchsorted(self.begins, end, side="left"))
        return slice(first, max(first, last))

    def forget_before(self, time: int) -> None:
        """Drop what ended before."""
        self._first += int(np.searchsorted(self.ends, time, side="left"))

    def copy(self) -> "Lane":
        """One that no longer changes with this one."""
        other = Lane(self._capacity)
        other.append(self.records)
        return other

    def _make_room(self, n: int) -> None:
        kept = len(self)
        size = len(self._records)
        if kept + n > size // 2:  # at most half is moved, so each record is moved about once
            size = min(max(2 * size, 2 * (kept + n)), max(2 * self._capacity, kept + n))
        for name in ("_records", "_begins", "_ends"):
            old = getattr(self, name)
            new = np.zeros(size, dtype=old.dtype)
            new[:kept] = old[self._first : self._last]
            setattr(self, name, new)
        self._first, self._last = 0, kept
