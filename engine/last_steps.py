"""LastSteps: the records that a timeline of the last steps shows, kept while a run goes on."""

import numpy as np
from numpy.typing import NDArray

from engine import trace
from engine.steps_so_far import LATE_STEPS, PIECE_RECORDS
from engine.trace import Event, Records


def last_of_most(requests: NDArray[np.integer], n_steps: int) -> slice:
    """Of steps with so many requests each: the last ones of those with the most."""
    if not len(requests):
        return slice(0, 0)
    last = int(np.flatnonzero(requests == requests.max())[-1])
    return slice(max(0, last + 1 - n_steps), last + 1)


class LastSteps:
    """Records in, as they are drained; those of the last steps with the most requests out.

    Not thread-safe.
    """

    def __init__(self, n_steps: int = 2, piece_records: int = PIECE_RECORDS) -> None:
        self._n_steps = n_steps
        self._piece_records = piece_records
        self._kept: list[Records] = []
        self._n_kept = 0
        self._most_kept = piece_records

    def take(self, records: Records) -> None:
        """Add what came."""
        self._kept.append(records)
        self._n_kept += len(records)
        if self._n_kept > self._most_kept:
            kept = self._shown_or_open(self.records())
            self._kept, self._n_kept = [kept], len(kept)
            self._most_kept = max(self._piece_records, 2 * self._n_kept)

    def records(self) -> Records:
        """Those of these steps, and some more."""
        return np.concatenate(self._kept) if self._kept else trace.empty()

    def _shown_or_open(self, records: Records) -> Records:
        steps = trace.of(records, Event.STEP)
        n_open = self._n_steps + LATE_STEPS  # some of their records may be on their way
        if len(steps) <= n_open:
            return records
        steps = steps[np.argsort(steps["begin_ns"], kind="stable")]
        shown = steps[last_of_most(steps["a"], self._n_steps)]
        begin, end = shown["begin_ns"].min(), shown["end_ns"].max()
        is_shown = (records["end_ns"] > begin) & (records["begin_ns"] < end)
        is_open = records["end_ns"] > steps[-n_open]["begin_ns"]
        kept: Records = records[is_shown | is_open]
        return kept
