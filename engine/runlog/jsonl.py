"""Export of a run's events as JSON Lines: the run first, then one line per record."""

from typing import IO

import msgspec

from engine import trace
from engine.runlog.reader import RunLog

_PIECE = 1 << 16


def write_jsonl(log: RunLog, file: IO[bytes]) -> int:
    """Write every record; returns how many. Times are in ns of one clock; -1: does not apply."""
    encode = msgspec.json.Encoder().encode
    file.write(encode({"run": log.meta, "marks": log.marks()}) + b"\n")
    names = [name for name, _ in trace.RECORD_FIELDS if not name.startswith("reserved")]
    records = log.records()
    event = names.index("event")
    for first in range(0, len(records), _PIECE):  # as Python's numbers they take 10 times as much
        columns = [records[name][first : first + _PIECE].tolist() for name in names]
        for values in zip(*columns, strict=True):
            row = dict(zip(names, values, strict=True))
            row["event"] = trace.EVENT_NAMES[values[event]]
            file.write(encode(row) + b"\n")
    return len(records)
