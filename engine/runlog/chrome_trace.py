"""Export of a run as Chrome trace JSON, which opens in Perfetto (ui.perfetto.dev) and chrome://tracing.

One track for steps, one for the device, one per reader, one per request. Slices are named by layer
("L3 x4" is a group of four jobs of layer 3) and coloured by request where one request is meant.
"""

from collections.abc import Iterator
from typing import IO, Any

import msgspec
import numpy as np

from engine import metrics, trace
from engine.runlog.meta import Mark
from engine.runlog.reader import RunLog
from engine.trace import Event, Records

_ENGINE, _REQUESTS = 1, 2  # the "processes" that tracks are grouped by
_STEPS, _DEVICE = 0, 1  # tracks of the engine; reader n is _DEVICE + n
_SLICES = {
    Event.STEP: "step",
    Event.FRONT: "front",
    Event.GROUP: "group",
    Event.HEAD: "head",
    Event.SAMPLE: "sample",
    Event.FETCH: "fetch",
    Event.PREFETCH: "prefetch",
    Event.PREFILL: "prefill",
    Event.WAVE: "wave",
}
_INSTANTS = {Event.EVICT: "evict", Event.RESIZE: "cache resized", Event.FAULT: "read failed"}
# Names that the viewers know as colours.
_COLOURS = [
    *("thread_state_running", "rail_response", "thread_state_iowait", "rail_animation"),
    *("cq_build_passed", "cq_build_failed", "thread_state_runnable", "rail_load"),
]


def write_chrome_trace(log: RunLog, file: IO[bytes]) -> int:
    """Write the run; returns the number of trace events."""
    encode = msgspec.json.Encoder().encode
    n = 0
    file.write(b'{"displayTimeUnit":"ms","otherData":' + encode(_about(log)) + b',"traceEvents":[')
    for event in _events(log.records(), log.marks()):
        file.write((b",\n" if n else b"\n") + encode(event))
        n += 1
    file.write(b"\n]}\n")
    return n


def _about(log: RunLog) -> dict[str, Any]:
    return {
        "model": log.meta.model.title,
        "started": log.meta.started,
        "device": log.meta.device,
        "store": log.meta.store,
        "runahead": log.meta.versions.get("runahead", ""),
    }


def _events(records: Records, marks: list[Mark]) -> Iterator[dict[str, Any]]:
    start = int(records["begin_ns"].min()) if len(records) else 0
    yield from _names(records)
    for row in trace.of(records, *_SLICES):
        yield _slice(row, start)
    for row in trace.of(records, *_INSTANTS):
        yield {
            "ph": "i",
            "s": "p",
            "pid": _ENGINE,
            "tid": _DEVICE,
            "ts": (int(row["begin_ns"]) - start) / 1e3,
            "name": _INSTANTS[Event(row["event"])],
            "args": _args(row),
        }
    for row in trace.of(records, Event.REQUEST):
        yield {
            **_times(row, start),
            "ph": "X",
            "pid": _REQUESTS,
            "tid": int(row["request"]),
            "name": f"request {row['request']}",
            "cname": _colour(int(row["request"])),
            "args": {"prompt tokens": int(row["a"]), "tokens": int(row["b"])},
        }
    yield from _counters(metrics.step_table(records), marks, start)


def _names(records: Records) -> Iterator[dict[str, Any]]:
    def name(kind: str, pid: int, tid: int, text: str) -> dict[str, Any]:
        return {"ph": "M", "pid": pid, "tid": tid, "name": kind, "args": {"name": text}}

    yield name("process_name", _ENGINE, 0, "Runahead")
    yield name("process_name", _REQUESTS, 0, "Requests")
    yield name("thread_name", _ENGINE, _STEPS, "steps")
    yield name("thread_name", _ENGINE, _DEVICE, "device")
    for lane in np.unique(trace.of(records, Event.FETCH, Event.PREFETCH)["lane"]):
        yield name("thread_name", _ENGINE, _DEVICE + int(lane), f"reader {lane}")


def _slice(row: Any, start: int) -> dict[str, Any]:
    event = Event(row["event"])
    track = _DEVICE + int(row["lane"])
    name = _SLICES[event]
    if event is Event.STEP:
        track, name = _STEPS, f"step {row['step']}"
    elif event is Event.GROUP:
        name = f"L{row['layer']} x{row['a']}"
    elif event in (Event.FETCH, Event.PREFETCH):
        name = f"{'~' if event is Event.PREFETCH else ''}L{row['layer']} e{row['expert']}"
    elif event is Event.WAVE:
        name = f"L{row['layer']} wave of {row['a']}"
    slice_ = {
        **_times(row, start),
        "ph": "X",
        "pid": _ENGINE,
        "tid": track,
        "name": name,
        "cat": _SLICES[event],
        "args": _args(row),
    }
    if row["request"] >= 0:
        slice_["cname"] = _colour(int(row["request"]))
    return slice_


def _counters(steps: metrics.Steps, marks: list[Mark], start: int) -> Iterator[dict[str, Any]]:
    for row in steps:
        at = {"ph": "C", "pid": _ENGINE, "ts": (int(row["begin_ns"]) - start) / 1e3}
        hits = {name: int(row[name]) for name in ("hits", "misses", "joined")}
        yield {**at, "name": "experts", "args": hits}
        yield {**at, "name": "requests", "args": {"requests": int(row["requests"])}}
    for mark in marks:
        later = steps[steps["step"] >= mark.step]
        if len(later):
            yield {
                "ph": "i",
                "s": "g",
                "pid": _ENGINE,
                "tid": _STEPS,
                "ts": (int(later[0]["begin_ns"]) - start) / 1e3,
                "name": mark.text,
            }


def _times(row: Any, start: int) -> dict[str, float]:
    begin, end = int(row["begin_ns"]), int(row["end_ns"])
    return {"ts": (begin - start) / 1e3, "dur": max(0, end - begin) / 1e3}  # microseconds


def _args(row: Any) -> dict[str, int]:
    names = [name for name in ("step", "request", "layer", "expert") if row[name] >= 0]
    return {name: int(row[name]) for name in (*names, "a", "b")}


def _colour(request: int) -> str:
    return _COLOURS[request % len(_COLOURS)]
