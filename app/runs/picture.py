"""Picture: the timeline of a few steps as rectangles: the device, and every reader."""

import msgspec
import numpy as np

from engine import trace
from engine.metrics import Steps
from engine.trace import Event, Records

SHARED = -1  # work for all requests together


class Block(msgspec.Struct, frozen=True):
    """Times in ms from the picture's begin.

    Attributes:
        lane: 0 for the device, then readers in their order.
        requests: Whose work it is; (SHARED,) for everybody's.
        text: What a tool tip says.
        short: What may be written on it.
        guess: A prefetch.
    """

    begin: float
    end: float
    lane: int
    requests: tuple[int, ...]
    text: str
    short: str = ""
    guess: bool = False


class Picture(msgspec.Struct, frozen=True):
    """`marks` are where steps begin: (ms, number)."""

    length_ms: float
    lanes: tuple[str, ...]
    blocks: tuple[Block, ...]
    requests: tuple[int, ...]
    marks: tuple[tuple[float, int], ...]


_SHARED_NAMES = {
    Event.FRONT: "attention and router of layer 0",
    Event.HEAD: "head",
    Event.SAMPLE: "sampling",
    Event.WAVE: "wave",
}


def picture_of(records: Records, steps: Steps) -> Picture:
    """The picture of these steps, which follow each other; `records` are those of their time."""
    begin, end = int(steps["begin_ns"].min()), int(steps["end_ns"].max())
    inside = records[(records["end_ns"] > begin) & (records["begin_ns"] < end)]
    issued = trace.of(records, Event.HIT, Event.JOIN, Event.MISS)
    issued = issued[np.isin(issued["step"], steps["step"]) & (issued["request"] >= 0)]
    requests = tuple(int(request) for request in np.unique(issued["request"]))
    reads = trace.of(inside, Event.FETCH, Event.PREFETCH)
    readers = [int(lane) for lane in np.unique(reads["lane"])]

    def span(row: np.void) -> tuple[float, float]:
        low, high = max(begin, int(row["begin_ns"])), min(end, int(row["end_ns"]))
        return (low - begin) / 1e6, (high - begin) / 1e6

    blocks = []
    for row in trace.of(inside, *_SHARED_NAMES):
        name = _SHARED_NAMES[Event(row["event"])]
        low, high = span(row)
        blocks.append(Block(low, high, 0, (SHARED,), f"{name}, {high - low:.2f} ms"))
    for row in trace.of(inside, Event.GROUP):
        low, high = span(row)
        members = tuple(r for r in requests if int(row["b"]) >> r % 32 & 1)
        if len(members) != int(row["a"]):  # more than 32 requests share the bits
            members = (SHARED,)
        who = ", ".join(map(str, members)) if members != (SHARED,) else f"{row['a']} requests"
        text = f"layer {row['layer']}: group of {row['a']} ({who}), {high - low:.2f} ms"
        blocks.append(Block(low, high, 0, members, text, str(row["layer"])))
    for row in reads:
        low, high = span(row)
        guess = Event(row["event"]) is Event.PREFETCH
        what = "prefetch" if guess else "fetch"
        text = f"{what} of layer {row['layer']} expert {row['expert']}, {high - low:.2f} ms"
        who_first = int(row["request"]) if int(row["request"]) in requests else SHARED
        lane = 1 + readers.index(int(row["lane"]))
        blocks.append(Block(low, high, lane, (who_first,), text, guess=guess))
    return Picture(
        length_ms=max(1e-3, (end - begin) / 1e6),  # of what is damaged, too, something can be drawn
        lanes=("compute", *(f"link {lane}" for lane in readers)),
        blocks=tuple(blocks),
        requests=requests,
        marks=tuple(((int(s["begin_ns"]) - begin) / 1e6, int(s["step"])) for s in steps),
    )
