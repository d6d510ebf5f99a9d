"""StepsSoFar: the metrics of a run's steps while it goes on, in little memory."""

import numpy as np

from engine import metrics, trace
from engine.metrics import Steps
from engine.trace import Event, Records

PIECE_RECORDS = 1 << 16  # small, too, for those who wait for Python's lock meanwhile
# Readers' records are drained apart from the engine's: those of a step may come a little after it.
LATE_STEPS = 2


class StepsSoFar:
    """Records in, as they are drained; steps out. Not thread-safe."""

    def __init__(self, piece_records: int = PIECE_RECORDS) -> None:
        self._piece_records = piece_records
        self._tables: list[Steps] = []  # of steps that nothing can change any more
        self._open: list[Records] = []
        self._n_open = 0
        self._most_open = piece_records

    def take(self, records: Records) -> None:
        """Add what came."""
        self._open.append(records)
        self._n_open += len(records)
        if self._n_open > self._most_open:
            self._close_steps()

    def steps(self) -> Steps:
        """The metrics of every step so far."""
        return np.concatenate([*self._tables, metrics.step_table(self._joined())])

    def _joined(self) -> Records:
        return np.concatenate(self._open) if self._open else trace.empty()

    def _close_steps(self) -> None:
        records = self._joined()
        steps = trace.of(records, Event.STEP)
        if len(steps) > LATE_STEPS:
            steps = steps[np.argsort(steps["begin_ns"], kind="stable")]
            first = steps[-LATE_STEPS]
            table = metrics.step_table(records)
            self._tables.append(table[table["begin_ns"] < first["begin_ns"]])
            is_open = (records["end_ns"] > first["begin_ns"]) | (records["step"] >= first["step"])
            records = records[is_open]
        self._open, self._n_open = [records], len(records)
        # Much is left while a long prompt is read: it is not looked through again and again.
        self._most_open = max(self._piece_records, 2 * self._n_open)
