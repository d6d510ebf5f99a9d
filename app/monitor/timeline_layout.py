"""TimelineLayout: where the timeline's lanes are in a picture of some size."""

import msgspec
import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF

from app.language import tr
from app.monitor.look import Look

_DEVICE_SHARE = 0.4  # of the height of all lanes
_MOST_READER = 18.0
_GAP = 2.0
_LOW = 110.0  # with less for all lanes, gaps are thinner


class TimelineLayout(msgspec.Struct, frozen=True):
    """Rectangles in logical pixels, on whole ones; all lanes have the same left and right.

    Attributes:
        steps: Where steps are named.
        strip: Where layers are named, right above the device.
        device, readers: The lanes.
        axis: Where times are written.
        labels: What each lane is called, and where that is written.
        bottom: Of the lowest lane.
    """

    steps: QRectF
    strip: QRectF
    device: QRectF
    readers: dict[int, QRectF]
    axis: QRectF
    labels: list[tuple[QRectF, str]]
    bottom: float

    @classmethod
    def of(cls, width: int, height: int, readers: list[int], look: Look) -> "TimelineLayout":
        """Lay it out."""
        line = round(look.small_size.height())
        names = [tr("compute"), tr("link")]
        left = round(max(look.small_size.horizontalAdvance(name) for name in names)) + 10
        across = max(10, width - left - 1)
        steps = QRectF(left, 0, across, line)
        strip = QRectF(left, line, across, line + 3)
        axis = QRectF(left, height - line - 6, across, line + 6)
        room = max(20.0, axis.top() - strip.bottom() - 4)
        n = max(1, len(readers))
        gap = _GAP if room > _LOW else 1.0
        each = max(2.0, min(_MOST_READER, (room * (1 - _DEVICE_SHARE) - gap * n) // n))
        device = QRectF(left, strip.bottom(), across, max(10.0, room - n * (each + gap) - gap))
        lanes, labels = {}, [(QRectF(0, device.top(), left - 6, device.height()), names[0])]
        top = device.bottom() + 2 * gap
        for number in readers:
            lanes[number] = QRectF(left, top, across, each)
            top += each + gap
        if readers:
            first, last = lanes[readers[0]], lanes[readers[-1]]
            labels.append((QRectF(0, first.top(), left - 6, last.bottom() - first.top()), names[1]))
        return cls(steps, strip, device, lanes, axis, labels, top - gap)

    def reader_rows(self, scale: float, first: int) -> tuple[QRectF, NDArray[np.int64]]:
        """One rectangle around all readers, and which of them each row of its pixels shows.

        They count from `first`; -1 stands between two.
        """
        rects = list(self.readers.values())
        top = rects[0].top()
        rect = QRectF(rects[0].left(), top, rects[0].width(), rects[-1].bottom() - top)
        rows = np.full(round(rect.height() * scale), -1)
        for place, one in enumerate(rects):
            rows[round((one.top() - top) * scale) : round((one.bottom() - top) * scale)] = (
                first + place
            )
        return rect, rows

    def x(self, begin_ns: int, end_ns: int, begin: int, end: int) -> tuple[float, float]:
        """Pixels of a time within the window [begin, end)."""
        scale = self.device.width() / (end - begin)
        left = self.device.left() + (begin_ns - begin) * scale
        return left, left + (end_ns - begin_ns) * scale
