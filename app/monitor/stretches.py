"""Stretches: what each choice of settings gave, so that two can be compared within one session."""

from collections.abc import Sequence

import msgspec
import numpy as np

from app.monitor.history import Marker, Setup, summarise
from app.monitor.step_rows import StepRows
from engine.metrics import Summary

MOST = 4
_LEAST_STEPS = 5
# Right after a change the cache still holds what the former settings put there.
_SETTLING_NS = 1_000_000_000
_LEAST_SETTLED_NS = 3_000_000_000


class Stretch(msgspec.Struct, frozen=True):
    """The time between two changes.

    Attributes:
        setup: The settings that held.
        summary: Means over its steps.
    """

    setup: Setup
    summary: Summary

    @property
    def requests(self) -> float:
        """In a step, on average."""
        return self.summary.tokens / max(1, self.summary.steps)


def stretches(steps: StepRows, markers: Sequence[Marker], first: Setup) -> list[Stretch]:
    """The newest MOST, oldest first; those with too few steps are left out."""
    borders = [0, *(marker.time_ns for marker in markers), 1 << 62]
    setups = [first, *(marker.setup for marker in markers)]
    rows = steps.rows
    found: list[Stretch] = []
    for place in range(len(setups) - 1, -1, -1):
        begin, end = borders[place], borders[place + 1]
        low, high = np.searchsorted(rows["begin_ns"], (begin, end))
        own = rows[low:high]
        if place and len(own) and int(own["end_ns"][-1]) - begin > _LEAST_SETTLED_NS:
            own = own[own["begin_ns"] >= begin + _SETTLING_NS]
        summary = summarise(own)
        if summary.steps >= _LEAST_STEPS:
            found.append(Stretch(setups[place], summary))
        if len(found) == MOST:
            break
    return found[::-1]
