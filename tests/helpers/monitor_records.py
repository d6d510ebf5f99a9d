"""Single trace records, by name."""

import numpy as np

from engine import trace
from engine.trace import Event, Records

MS = 1_000_000


def record(event: Event, begin_ms: float, end_ms: float | None = None, **fields: int) -> Records:
    """One record; times in ms. Without an end it is an instant."""
    made = np.zeros(1, dtype=trace.RECORD_DTYPE)
    made["event"] = int(event)
    made["begin_ns"] = round(begin_ms * MS)
    made["end_ns"] = round((begin_ms if end_ms is None else end_ms) * MS)
    for name in ("step", "request", "layer", "expert"):
        made[name] = fields.pop(name, -1)
    for name, value in fields.items():
        made[name] = value
    return made


def joined(*records: Records) -> Records:
    """Several, in this order."""
    return np.concatenate(records)


def split(records: Records, n_each: int) -> list[Records]:
    """Batches of so many records."""
    return [records[at : at + n_each] for at in range(0, len(records), n_each)]
