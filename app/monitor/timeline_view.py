"""TimelineView: which time the timeline shows: it follows what is newest, or stands still."""

import numpy as np

from app.monitor.lanes import Lanes
from app.monitor.ticks import nice_ceiling

FOLLOWED_STEPS = 4
_LEAST_NS = 20_000.0
_MOST_NS = 60e9
_LEAST_AUTO_NS = 0.5e9  # less would be another picture in every frame
_FIRST_NS = 2e9
_MEDIAN_OF = 64  # newest steps


class TimelineView:
    """No widget: times in, times out.

    Attributes:
        lanes: What is shown: the living ones, or a copy while it stands still.
        frozen: It stands still, though data goes on.
    """

    def __init__(self, lanes: Lanes):
        self._living = lanes
        self.lanes = lanes
        self.frozen = False
        self._length = _FIRST_NS
        self._end = 0.0  # while frozen
        self._automatic = True  # the length follows how long steps take

    @property
    def length_ns(self) -> float:
        """How much time is shown."""
        return self._length

    def window(self) -> tuple[int, int]:
        """The begin and the end of what is shown, ns."""
        end = self._end if self.frozen else float(self.lanes.latest_ns)
        return int(end - self._length), int(end)

    def use(self, lanes: Lanes) -> None:
        """Show another engine's."""
        self._living = lanes
        self._automatic = True
        self.follow()

    def follow(self) -> None:
        """Go with what is newest."""
        self.frozen = False
        self.lanes = self._living

    def freeze(self) -> None:
        """Stand still; what is here stays, though the history forgets it."""
        if not self.frozen:
            self._end = float(self._living.latest_ns)
            self.lanes = self._living.copy()
            self.frozen = True

    def refresh(self) -> None:
        """While following: a length that shows a few steps, in round numbers."""
        steps = self.lanes.steps
        if self.frozen or not self._automatic or len(steps) < 2:
            return
        typical = float(np.median(np.diff(steps.begins[-_MEDIAN_OF:])))
        wanted = max(_LEAST_AUTO_NS, typical * FOLLOWED_STEPS)
        if not 0.55 * self._length <= wanted <= self._length:  # else it would jump to and fro
            self._length = min(_MOST_NS, nice_ceiling(wanted))

    def zoom(self, factor: float, at: float) -> None:
        """Show `factor` as much time; what is at `at` (0: begin, 1: end) stays there."""
        self._automatic = False
        length = min(_MOST_NS, max(_LEAST_NS, self._length * factor))
        if self.frozen:
            self._end += (length - self._length) * (1 - at)
        self._length = length
        self._stay_inside()

    def pan(self, share: float) -> None:
        """Go so much of the shown length into the future; stands still from now on."""
        self.freeze()
        self._end += share * self._length
        self._stay_inside()

    def show(self, begin: float, end: float) -> None:
        """Show exactly this; stands still from now on."""
        self.freeze()
        self._automatic = False
        self._length = min(_MOST_NS, max(_LEAST_NS, end - begin))
        self._end = begin + self._length

    def show_all(self) -> None:
        """Everything that is kept in detail."""
        lanes = self.lanes
        if lanes.latest_ns > lanes.earliest_ns:
            self.show(float(lanes.earliest_ns), float(lanes.latest_ns))

    def fit(self, time: float) -> None:
        """The step at this time; where it is shown already, or there is none: as at first."""
        steps = self.lanes.steps
        found = steps.window(int(time), int(time) + 1)
        begin, end = self.window()
        if found.start < found.stop:
            low, high = float(steps.begins[found.start]), float(steps.ends[found.start])
            margin = 0.02 * (high - low)
            if abs((end - begin) - (high - low + 2 * margin)) > 0.01 * (high - low):
                self.show(low - margin, high + margin)
                return
        self._automatic = True
        self.follow()
        self.refresh()

    def _stay_inside(self) -> None:
        if self.frozen:
            low = self.lanes.earliest_ns + 0.1 * self._length
            high = self.lanes.latest_ns + 0.9 * self._length
            self._end = min(max(self._end, low), max(low, high))
