"""Trace records as numpy sees them: the same fields and events as native/trace/record.h.

Kept here too, so that run logs are read and metrics derived in processes that never load the native
module; `engine.native` refuses a native module whose records differ.
"""

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

RECORD_FIELDS: list[tuple[str, str]] = [
    ("begin_ns", "<i8"),
    ("end_ns", "<i8"),
    ("step", "<i4"),
    ("request", "<i4"),
    ("layer", "<i4"),
    ("expert", "<i4"),
    ("a", "<i8"),
    ("b", "<i8"),
    ("event", "<u1"),
    ("lane", "<u1"),
    ("part", "<u2"),
    ("reserved", "<u4"),
]
RECORD_DTYPE = np.dtype(RECORD_FIELDS)

# A structured array of RECORD_DTYPE.
Records = NDArray[np.void]


class Event(IntEnum):
    """What a record says happened; the meaning of `a` and `b` is in native/trace/record.h."""

    STEP = 0
    FRONT = 1
    GROUP = 2
    HEAD = 3
    SAMPLE = 4
    FETCH = 5
    PREFETCH = 6
    HIT = 7
    JOIN = 8
    MISS = 9
    EVICT = 10
    PREFILL = 11
    WAVE = 12
    SCHEDULER = 13
    REQUEST = 14
    RESIZE = 15
    FAULT = 16


_MOST_NS = 1 << 60  # 36 years of a clock that begins with the machine
_MOST_OF_ONE_KIND = 1 << 16  # layers, experts, requests

EVENT_NAMES = [event.name.lower() for event in Event]


def from_bytes(data: bytes) -> Records:
    """View whole records in `data`; a partial last one (a crash while writing) is left out."""
    whole = len(data) // RECORD_DTYPE.itemsize * RECORD_DTYPE.itemsize
    return np.frombuffer(data[:whole], dtype=RECORD_DTYPE)


def from_disk(data: bytes) -> Records:
    """As from_bytes, without records that nobody can have written: a disk has changed them."""
    records = from_bytes(data)
    begin, end, is_step = records["begin_ns"], records["end_ns"], records["event"] == Event.STEP
    counts = is_step | (records["event"] == Event.GROUP)  # requests, jobs
    sound = (records["event"] < len(Event)) & (begin > 0) & (end < _MOST_NS)
    sound &= np.where(is_step, end > begin, end >= begin) & (records["step"] >= -1)
    for name in ("layer", "expert"):
        sound &= (records[name] >= -1) & (records[name] < _MOST_OF_ONE_KIND)
    sound &= ~counts | ((records["a"] > 0) & (records["a"] < _MOST_OF_ONE_KIND))
    return records if sound.all() else records[sound]


def empty() -> Records:
    """No records."""
    return np.zeros(0, dtype=RECORD_DTYPE)


def of(records: Records, *events: Event) -> Records:
    """The records of these events, in their order."""
    selected: Any = records[np.isin(records["event"], [int(event) for event in events])]
    return selected  # type: ignore[no-any-return]
