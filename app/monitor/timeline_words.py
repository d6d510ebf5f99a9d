"""What the timeline says of the record under the pointer."""

from typing import Any

import numpy as np

from app.language import tr
from app.monitor import ticks
from app.monitor.history import History
from app.monitor.lane import Lane
from app.monitor.lanes import Lanes
from engine import sizes
from engine.trace import Event

_MOST_NAMED = 12


def words_of(history: History, lanes: Lanes, lane: Lane, time: float, mercy: float) -> str:
    """A few lines; "" where nothing is. `mercy`: as far beside it still counts, ns."""
    window = lane.window(int(time - mercy), int(time + mercy) + 1)
    if window.start == window.stop:
        return _waiting(lanes, lane, time)
    places = range(window.start, window.stop)
    nearest = min(places, key=lambda k: max(lane.begins[k] - time, time - lane.ends[k], 0))
    record = lane.records[nearest]
    took = ticks.duration(int(record["end_ns"]) - int(record["begin_ns"]))
    lines = [f"{_what(record)} · {took}", *_details(history, record)]
    if int(record["step"]) >= 0:
        lines.append(tr("step {number}", number=f"{int(record['step']):,}"))
    return "\n".join(lines)


def _what(record: Any) -> str:
    layer, n = int(record["layer"]), int(record["a"])
    match Event(int(record["event"])):
        case Event.FRONT:
            return tr("Front: attention and router of the first layer")
        case Event.GROUP:
            jobs = tr("1 request") if n == 1 else tr("{n} requests together", n=n)
            return tr("Layer {layer}, {jobs}", layer=layer, jobs=jobs)
        case Event.HEAD:
            return tr("Head: the scores of all next tokens")
        case Event.SAMPLE:
            return tr("Choosing the next tokens")
        case Event.WAVE:
            return tr("Layer {layer}, a wave of {n} experts", layer=layer, n=n)
        case Event.PREFETCH:
            return tr(
                "Prefetch, a guess: layer {layer}, expert {expert}",
                layer=layer,
                expert=int(record["expert"]),
            )
        case _:
            return tr("Layer {layer}, expert {expert}", layer=layer, expert=int(record["expert"]))


def _details(history: History, record: Any) -> list[str]:
    event = Event(int(record["event"]))
    if event is Event.GROUP:
        found = history.requests_of(int(record["b"]), int(record["begin_ns"]))
        if not found:
            return []
        named = ", ".join(f"{request}" for request in found[:_MOST_NAMED])
        more = "…" if len(found) > _MOST_NAMED else ""
        return [tr("requests {numbers}", numbers=named + more)]
    request = int(record["request"])
    if event in (Event.FETCH, Event.PREFETCH):
        amount = int(record["a"])
        speed = amount / max(1, int(record["end_ns"]) - int(record["begin_ns"]))
        read = tr(
            "{size} at {speed:.2f} GB/s, reader {lane}",
            size=sizes.show(amount),
            speed=speed,
            lane=int(record["lane"]),
        )
        part = int(record["part"])
        lines = [read] if part == 0 else [tr("{read}, part {part}", read=read, part=part + 1)]
        return [*lines, tr("for request {number}", number=request)] if request >= 0 else lines
    if event is Event.WAVE and request >= 0:
        return [tr("prompt of request {number}", number=request)]
    return []


def _waiting(lanes: Lanes, lane: Lane, time: float) -> str:
    """Between two records of a step, the device waits for experts, a reader for work."""
    steps = lanes.steps
    inside = steps.window(int(time), int(time) + 1)
    if inside.start == inside.stop or not len(lane):
        return ""
    after = int(np.searchsorted(lane.begins, time))
    if after in (0, len(lane)):
        return ""
    took = ticks.duration(int(lane.begins[after]) - int(lane.ends[after - 1]))
    if lane is lanes.device:
        return tr("Waiting for experts · {time}", time=took)
    return tr("Nothing to read · {time}", time=took)
