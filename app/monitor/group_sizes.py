"""GroupSizes: how many requests the device computed together, as a histogram."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.language import tr
from app.monitor.history import History
from app.monitor.look import Look
from app.monitor.ticks import nice_top
from app.theme.theme import Theme

_SHOWN_NS = 10_000_000_000
_LEAST_BARS = 4


class GroupSizes(QWidget):
    """Shares of the groups of the last seconds, since the last change of a setting at most."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        tip = tr(
            "How many requests the device computes together. Large groups share the work of"
            " loading weights; small ones appear when requests run ahead instead of waiting."
        )
        self.title = tr("Group sizes")
        self.setToolTip(tip)
        self.setAccessibleName(self.title)
        self.setAccessibleDescription(tip)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._theme = theme
        self.look = Look(theme)
        self._counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        theme.changed.connect(self._on_theme_changed)

    def show_history(self, history: History) -> None:
        """Count again."""
        since = history.latest_ns - _SHOWN_NS
        if history.markers:
            since = max(since, history.markers[-1].time_ns)
        self._counts = history.group_sizes(since)
        self.update()

    @property
    def shares(self) -> NDArray[np.float64]:
        """Of groups with 1, 2, 3 ... requests."""
        counts = self._counts[1:]
        return counts / max(1, int(counts.sum()))

    def mean(self) -> float:
        """Requests per group; 0 when there is none."""
        return (
            float((self.shares * np.arange(1, len(self._counts))).sum())
            if len(self._counts)
            else 0.0
        )

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """What is needed; it takes what it gets."""
        return QSize(260, 112)

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Still readable."""
        return QSize(180, 112)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw bars, the axis, and the mean."""
        look, small = self.look, self.look.small_size
        painter = QPainter(self)
        painter.fillRect(self.rect(), look.raised)
        head = QRectF(0, 0, self.width() - 2, look.title_size.height())
        painter.setFont(look.title)
        painter.setPen(look.text)
        painter.drawText(head, int(Qt.AlignmentFlag.AlignLeft), self.title)
        shares = self.shares
        if self._counts.sum():
            text = tr("{mean} on average", mean=f"{self.mean():.1f}")
            painter.setFont(look.figure)
            painter.drawText(head, int(Qt.AlignmentFlag.AlignRight), text)
        painter.setFont(look.small)
        top = nice_top(float(shares.max(initial=0.0)) * 1.05) if shares.any() else 1.0
        top = min(1.0, top)
        left = small.horizontalAdvance("100%") + 8
        below = small.height() + 4
        plot = QRectF(
            *(left, head.height() + 10, max(10.0, self.width() - left - 2)),
            max(10.0, self.height() - head.height() - 10 - below),
        )
        for k in range(3):
            y = round(plot.bottom() - plot.height() * k / 2) + 0.5
            painter.setPen(look.grid_pen)
            painter.drawLine(round(plot.left()), round(y), round(plot.right()), round(y))
            painter.setPen(look.muted)
            row = QRectF(0, y - 10, left - 6, 20)
            flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(row, int(flags), f"{top * k / 2:.0%}")
        self._paint_bars(painter, plot, shares, top)
        painter.end()

    def _paint_bars(
        self, painter: QPainter, plot: QRectF, shares: NDArray[np.float64], top: float
    ) -> None:
        look, small = self.look, self.look.small_size
        n = max(_LEAST_BARS, len(shares))
        room = plot.width() / n
        every = next(
            k for k in (1, 2, 4, 8, 16, 32) if room * k > small.horizontalAdvance("64") + 4
        )
        for place in range(n):
            x = plot.left() + place * room
            share = float(shares[place]) if place < len(shares) else 0.0
            height = share / top * plot.height()
            gap = min(6.0, room * 0.14)
            bar = QRectF(x + gap, plot.bottom() - height, room - 2 * gap, height)
            painter.fillRect(bar, look.compute)
            text = f"{share:.0%}"
            if share >= 0.005 and small.horizontalAdvance(text) + 6 <= room:
                painter.setPen(look.text)
                above = bar.top() - small.height() - 1 >= plot.top() - small.height()
                y = bar.top() - 2 if above and bar.top() > plot.top() + small.height() else 0
                if y:
                    half = small.horizontalAdvance(text) / 2
                    painter.drawText(round(bar.center().x() - half), round(y), text)
            if (place + 1) % every == 0 or every == 1:
                painter.setPen(look.muted)
                row = QRectF(x - 8, plot.bottom() + 3, room + 16, small.height())
                painter.drawText(row, int(Qt.AlignmentFlag.AlignHCenter), f"{place + 1}")

    def _on_theme_changed(self) -> None:
        self.look = Look(self._theme)
        self.update()
