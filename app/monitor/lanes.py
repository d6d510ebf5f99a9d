"""Lanes: what the timeline shows, in detail, for the last minute."""

import numpy as np

from app.monitor.lane import Lane
from engine.trace import Event, Records

_DEVICE, _READ, _PREFILL, _STEP = 1, 2, 3, 4
_PLACES = {
    **dict.fromkeys((Event.FRONT, Event.GROUP, Event.HEAD, Event.SAMPLE, Event.WAVE), _DEVICE),
    **dict.fromkeys((Event.FETCH, Event.PREFETCH), _READ),
    Event.PREFILL: _PREFILL,
    Event.STEP: _STEP,
}
_PLACE = np.array([_PLACES.get(event, 0) for event in Event] + [0] * (256 - len(Event)))
KEPT_NS = 60_000_000_000
MOST_DEVICE = 1 << 16
MOST_READS = 1 << 14  # of each reader
MOST_READERS = 64
MOST_STEPS = 1 << 13


class Lanes:
    """Bounded in time and number.

    Attributes:
        device: What was computed: front, groups, head, sampling, waves.
        readers: What each reader read, by its lane number.
        prefills: Chunks of prompts.
        steps: Decode steps.
        latest_ns: The end of the newest record; 0 before the first.
    """

    def __init__(self) -> None:
        self.device = Lane(MOST_DEVICE)
        self.readers: dict[int, Lane] = {}
        self.prefills = Lane(MOST_STEPS)
        self.steps = Lane(MOST_STEPS)
        self.latest_ns = 0

    def add(self, records: Records) -> None:
        """Add newer records, of all threads."""
        if not len(records):
            return
        self.latest_ns = max(self.latest_ns, int(records["end_ns"].max()))
        place = _PLACE[records["event"]]
        self.device.append(records[place == _DEVICE])
        self.prefills.append(records[place == _PREFILL])
        self.steps.append(records[place == _STEP])
        reads = records[place == _READ]
        for number in np.unique(reads["lane"]).tolist():
            if number not in self.readers:
                if len(self.readers) == MOST_READERS:
                    continue
                self.readers[number] = Lane(MOST_READS)
                self.readers = dict(sorted(self.readers.items()))
            self.readers[number].append(reads[reads["lane"] == number])
        for lane in self._all():
            lane.forget_before(self.latest_ns - KEPT_NS)

    @property
    def earliest_ns(self) -> int:
        """The begin of the oldest record that is kept; `latest_ns` when there is none."""
        return min(
            (int(lane.begins[0]) for lane in self._all() if len(lane)), default=self.latest_ns
        )

    def copy(self) -> "Lanes":
        """As it is now, for a view that stands still."""
        other = Lanes()
        other.device, other.prefills = self.device.copy(), self.prefills.copy()
        other.steps, other.latest_ns = self.steps.copy(), self.latest_ns
        other.readers = {number: lane.copy() for number, lane in self.readers.items()}
        return other

    def _all(self) -> list[Lane]:
        return [self.device, self.prefills, self.steps, *self.readers.values()]
