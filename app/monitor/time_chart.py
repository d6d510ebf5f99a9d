"""TimeChart: what all plots over time have in common: axes, title, legend, markers, hover.

Charts paint themselves. The monitor runs beside an engine that wants every core, and six live
pyqtgraph plots cost five times as much per frame.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.language import tr
from app.monitor import ticks
from app.monitor.history import Marker
from app.monitor.look import Look, with_alpha
from app.theme.theme import Theme

Floats = NDArray[np.float64]
PIXELS_PER_BIN = 3


class Span(msgspec.Struct, frozen=True):
    """The time that all charts show, ns."""

    begin: int
    end: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end - self.begin) / 1e9

    def edges(self, width: float) -> NDArray[np.int64]:
        """Borders of bins for a chart so many pixels wide.

        Bins begin at multiples of their length, so that a sum does not change while it moves along.
        """
        length = max(1, int((self.end - self.begin) / max(8, width / PIXELS_PER_BIN)))
        length = 1 << (length - 1).bit_length()
        first = self.begin // length * length
        return np.arange(first, self.end + length, length, dtype=np.int64)


class Swatch(msgspec.Struct, frozen=True):
    """An entry of a legend; `short` is what it says where there is little room."""

    colour: QColor
    text: str
    short: str = ""


class TimeChart(QWidget):
    """A picture over a Span; what is in it is `_paint_data`, of a kind of chart."""

    def __init__(self, theme: Theme, title: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.setToolTip(tip)
        self.setAccessibleName(title)
        self.setAccessibleDescription(tip)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self.span = Span(0, 60_000_000_000)
        self.markers: Sequence[Marker] = ()
        self._hover: float | None = None  # x
        self._theme = theme
        self.look = Look(theme)
        theme.changed.connect(self._on_theme_changed)

    # What a kind of chart says.

    def has_data(self) -> bool:
        """Whether there is anything to draw."""
        return False

    def top(self) -> float:
        """The value at the upper edge."""
        return 1.0

    def y_text(self, value: float) -> str:
        """How a value is written at the axis."""
        return f"{value:g}"

    def value_text(self, at: int) -> str:
        """The figure beside the title: of bin `at`; -1: now."""
        return ""

    def legend(self, at: int) -> Sequence[Swatch]:
        """Colours and what they mean, in bin `at`; -1: now."""
        return ()

    def edges(self) -> NDArray[np.int64]:
        """Borders of the bins that are drawn, ns."""
        return np.zeros(0, dtype=np.int64)

    def _paint_data(self, painter: QPainter, plot: QRectF) -> None:
        raise NotImplementedError

    # Painting.

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """What is needed; it takes what it gets."""
        return QSize(260, 112)

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Still readable."""
        return QSize(180, 112)

    def plot_rect(self) -> QRectF:
        """Where the data is."""
        small, title = self.look.small_size, self.look.title_size
        left = max(small.horizontalAdvance(self.y_text(self.top() * k / 4)) for k in range(5)) + 8
        above = title.height() + 4 + (small.height() + 3 if self.legend(-1) else 0) + 4
        below = small.height() + 4
        return QRectF(
            left,
            above,
            max(10.0, self.width() - left - 2),
            max(10.0, self.height() - above - below),
        )

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw everything."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.look.raised)
        plot = self.plot_rect()
        at = self._hovered_bin(plot)
        self._paint_header(painter, at)
        self._paint_axes(painter, plot)
        if self.has_data():
            painter.save()
            painter.setClipRect(plot)
            self._paint_data(painter, plot)
            painter.restore()
        else:
            painter.setPen(self.look.muted)
            painter.drawText(plot, Qt.AlignmentFlag.AlignCenter, tr("nothing in this time"))
        self._paint_markers(painter, plot)
        if at >= 0 and self._hover is not None:
            painter.setPen(self.look.muted)
            painter.drawLine(QPointF(self._hover, plot.top()), QPointF(self._hover, plot.bottom()))
        painter.end()

    def x_of(self, time_ns: Floats | NDArray[np.int64], plot: QRectF) -> Floats:
        """Pixels of instants."""
        scale = plot.width() / max(1, self.span.end - self.span.begin)
        return np.asarray(plot.left() + (time_ns - self.span.begin) * scale, dtype=np.float64)

    def y_of(self, values: Floats, plot: QRectF) -> Floats:
        """Pixels of values."""
        return np.asarray(plot.bottom() - values * (plot.height() / self.top()), dtype=np.float64)

    def _paint_header(self, painter: QPainter, at: int) -> None:
        look = self.look
        height = look.title_size.height()
        value = self.value_text(at) if self.has_data() else ""
        painter.setFont(look.title)
        painter.setPen(look.text)
        painter.drawText(QRectF(0, 0, self.width(), height), Qt.AlignmentFlag.AlignLeft, self.title)
        left = look.title_size.horizontalAdvance(self.title) + 12
        painter.setFont(look.small if at >= 0 else look.figure)
        painter.setPen(look.muted if at >= 0 else look.text)
        shown = f"{value} · {self._when(at)}" if at >= 0 else value
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        room = QRectF(left, 0, self.width() - left - 2, height)
        if QFontMetricsF(painter.font()).horizontalAdvance(shown) > room.width():
            shown = shown.split(" ")[0]  # the figure alone
        painter.drawText(room, flags, shown)
        painter.setFont(look.small)
        if swatches := self.legend(at):
            paint_legend(painter, look, swatches, QPointF(0, height + 4), self.width())

    def _when(self, at: int) -> str:
        seconds = (self.span.end - int(self.edges()[at])) / 1e9
        text = ticks.ago(round(seconds))
        return text if text == "now" else tr("{time} ago", time=text)

    def _paint_axes(self, painter: QPainter, plot: QRectF) -> None:
        look = self.look
        painter.setFont(look.small)
        n_lines = 4 if plot.height() > 4.4 * look.small_size.height() else 2
        for k in range(n_lines + 1):
            value = self.top() * k / n_lines
            y = round(plot.bottom() - plot.height() * k / n_lines) + 0.5
            painter.setPen(look.grid_pen)
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(look.muted)
            row = QRectF(0, y - 10, plot.left() - 6, 20)
            flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(row, flags, self.y_text(value))
        self._paint_times(painter, plot)

    def _paint_times(self, painter: QPainter, plot: QRectF) -> None:
        look = self.look
        step = ticks.second_step(self.span.seconds, max(2, int(plot.width() / 72)))
        seconds, free = 0.0, plot.right() + 2
        while seconds <= self.span.seconds * 1.0001:
            x = plot.right() - plot.width() * seconds / self.span.seconds
            text = ticks.ago(seconds)
            text = text if seconds == 0 else f"−{text}"
            width = look.small_size.horizontalAdvance(text)
            left = min(max(plot.left(), x - width / 2), plot.right() - width)
            if left + width <= free:
                painter.setPen(look.muted)
                painter.drawText(QPointF(left, plot.bottom() + look.small_size.ascent() + 4), text)
                free = left - 8
            if 0 < seconds < self.span.seconds:
                painter.setPen(look.grid_pen)
                painter.drawLine(
                    QPointF(round(x) + 0.5, plot.bottom()),
                    QPointF(round(x) + 0.5, plot.bottom() + 3),
                )
            seconds += step

    def _paint_markers(self, painter: QPainter, plot: QRectF) -> None:
        look, size = self.look, self.look.small_size
        free = plot.right()
        for marker in reversed(self.markers):
            if not self.span.begin <= marker.time_ns <= self.span.end:
                continue
            x = float(self.x_of(np.array([marker.time_ns]), plot)[0])
            painter.setPen(look.mark_pen)
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
            width = size.horizontalAdvance(marker.text) + 8
            left = x + 2
            if left + width > free:  # on its other side, where the newer one leaves no room
                left = x - 2 - width
            if left < plot.left() or left + width > free:
                continue
            box = QRectF(left, plot.top() + 1, width, size.height() + 1)
            painter.fillRect(box, with_alpha(look.raised, 0.85))
            painter.setPen(look.text)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, marker.text)
            free = min(left, x) - 4

    def _hovered_bin(self, plot: QRectF) -> int:
        edges = self.edges()
        if self._hover is None or len(edges) < 2 or not plot.left() <= self._hover <= plot.right():
            return -1
        share = (self._hover - plot.left()) / plot.width()
        time = self.span.begin + share * (self.span.end - self.span.begin)
        return min(int(np.searchsorted(edges, time, side="right")) - 1, len(edges) - 2)

    # Events.

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Say what was then."""
        self._hover = event.position().x()
        self.update()

    def leaveEvent(self, event: object) -> None:  # noqa: N802, Qt's name
        """Say what is now."""
        self._hover = None
        self.update()

    def _on_theme_changed(self) -> None:
        self.look = Look(self._theme)
        self.update()


def paint_legend(
    painter: QPainter, look: Look, swatches: Sequence[Swatch], at: QPointF, right: float
) -> None:
    """Swatches in a row; in their short form, or fewer, where there is no room for all."""
    size: QFontMetricsF = look.small_size
    x, box = at.x(), round(size.ascent() * 0.72)
    texts = [swatch.text for swatch in swatches]
    wanted = sum(size.horizontalAdvance(text) + box + 14 for text in texts) - 10
    gap = 10
    if wanted > right - x:
        texts = [swatch.short or swatch.text for swatch in swatches]
        gap = 8
    for swatch, text in zip(swatches, texts, strict=True):
        width = box + 4 + size.horizontalAdvance(text)
        if x + width > right:
            return
        top = at.y() + (size.height() - box) / 2
        painter.fillRect(QRectF(x, top, box, box), swatch.colour)
        painter.setPen(look.muted)
        painter.drawText(QPointF(x + box + 4, at.y() + size.ascent()), text)
        x += width + gap


def polygon(x: Floats, low: Floats, high: Floats) -> QPolygonF:
    """The area between two lines."""
    there = zip(x.tolist(), high.tolist(), strict=True)
    back = zip(x[::-1].tolist(), low[::-1].tolist(), strict=True)
    return QPolygonF([QPointF(a, b) for a, b in (*there, *back)])


def polyline(x: Floats, y: Floats) -> QPolygonF:
    """A line through points."""
    return QPolygonF([QPointF(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
