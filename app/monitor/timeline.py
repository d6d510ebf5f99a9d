"""Timeline: what the device and every reader did, step by step; live, or to be looked into."""

from pathlib import Path

import numpy as np
from PySide6.QtCore import QBuffer, QIODevice, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.language import tr
from app.monitor import ticks
from app.monitor.history import History
from app.monitor.lane import Lane
from app.monitor.lanes import Lanes
from app.monitor.look import Look, mixed, with_alpha
from app.monitor.timeline_layout import TimelineLayout
from app.monitor.timeline_picture import Pixels, Shades, columns, device_pixels, reader_pixels
from app.monitor.timeline_view import TimelineView
from app.monitor.timeline_words import words_of
from app.theme.theme import Theme
from engine.atomic_file import write_atomically
from engine.trace import Event

_STEP_LABEL_ROOM = 64
_STEP_LINE_ROOM = 7


class Timeline(QWidget):
    """Drag to go back and forth, turn the wheel to zoom, double-click to fit a step.

    Signals:
        frozen_changed: It stands still, or follows again. arg: bool.
    """

    frozen_changed = Signal(bool)

    def __init__(self, history: History, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self._theme = theme
        self.view = TimelineView(history.lanes)
        self.look = Look(theme)
        self._shades = _shades(self.look)
        self._dragged_from: float | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Step timeline"))
        self.setAccessibleDescription(
            tr("Space pauses, arrow keys move, plus and minus zoom, End follows again.")
        )
        theme.changed.connect(self._on_theme_changed)

    def set_history(self, history: History) -> None:
        """Show another engine's."""
        self._history = history
        self.view.use(history.lanes)
        self._changed()

    def show_newest(self) -> None:
        """Draw what has come, unless it stands still."""
        if not self.view.frozen:
            self.view.refresh()
            self.update()

    def set_frozen(self, frozen: bool) -> None:
        """Stand still, or follow again."""
        (self.view.freeze if frozen else self.view.follow)()
        self._changed()

    def zoom(self, factor: float, at: float = 0.5) -> None:
        """Show `factor` as much time."""
        self.view.zoom(factor, at)
        self._changed()

    def show_all(self) -> None:
        """Show everything that is kept in detail."""
        self.view.show_all()
        self._changed()

    def picture(self, size: QSize, scale: float = 2.0) -> QImage:
        """What is shown now as a picture of `size` logical pixels."""
        image = QImage(size * scale, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(scale)
        painter = QPainter(image)
        self._paint(painter, size.width(), size.height(), scale)
        painter.end()
        return image

    def export_png(self, path: Path) -> None:
        """Write what is shown now, in the place of what is there. Raises OSError."""
        image = self.picture(self.size())
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        if not image.save(buffer, "PNG"):  # type: ignore[call-overload]
            raise OSError(tr("there is not enough memory for the picture"))
        write_atomically(path, bytes(buffer.data().data()))

    # Painting.

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """What is needed; it takes what it gets."""
        return QSize(600, 112)

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Still readable."""
        return QSize(220, 112)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw what is in view."""
        painter = QPainter(self)
        self._paint(painter, self.width(), self.height(), self.devicePixelRatioF())
        painter.end()

    def _layout(self, width: int, height: int) -> TimelineLayout:
        return TimelineLayout.of(width, height, list(self.view.lanes.readers), self.look)

    def _paint(self, painter: QPainter, width: int, height: int, scale: float) -> None:
        look = self.look
        layout = self._layout(width, height)
        painter.fillRect(QRect(0, 0, width, height), look.raised)
        painter.setFont(look.small)
        if not self.view.lanes.latest_ns:
            painter.setPen(look.muted)
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            hint = tr("Send a message, and every step will be seen here as it happens.")
            painter.drawText(QRect(0, 0, width, height), int(flags), hint)
            return
        begin, end = _aligned(*self.view.window(), round(layout.device.width() * scale))
        self._paint_tracks(painter, layout)
        self._paint_prefills(painter, layout, begin, end)
        self._paint_lanes(painter, layout, begin, end, scale)
        self._paint_steps(painter, layout, begin, end)
        self._paint_layers(painter, layout, begin, end)
        self._paint_times(painter, layout, begin, end)

    def _paint_lanes(
        self, painter: QPainter, layout: TimelineLayout, begin: int, end: int, scale: float
    ) -> None:
        lanes, shades = self.view.lanes, self._shades
        readers = [lanes.readers[number] for number in layout.readers]
        width = round(layout.device.width() * scale)
        shown = columns([lanes.device, *readers], begin, end, width)
        if shown is None:
            return
        height = round(layout.device.height() * scale)
        _draw(painter, layout.device, device_pixels(shown, 0, height, shades))
        if readers:
            rect, rows = layout.reader_rows(scale, first=1)
            _draw(painter, rect, reader_pixels(shown, rows, shades))

    def _paint_tracks(self, painter: QPainter, layout: TimelineLayout) -> None:
        look = self.look
        painter.fillRect(layout.device, look.track)
        for rect in layout.readers.values():
            painter.fillRect(rect, look.track)
        painter.setPen(look.muted)
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for rect, text in layout.labels:
            painter.drawText(rect, int(flags), text)

    def _paint_prefills(
        self, painter: QPainter, layout: TimelineLayout, begin: int, end: int
    ) -> None:
        lane = self.view.lanes.prefills
        for record in lane.records[lane.window(begin, end)][-200:]:
            left, right = layout.x(int(record["begin_ns"]), int(record["end_ns"]), begin, end)
            colour = self.look.colours[int(record["request"]) % len(self.look.colours)]
            rect = QRectF(left, layout.device.top(), right - left, layout.device.height())
            painter.fillRect(rect, with_alpha(colour, 0.14))
            painter.fillRect(QRectF(left, layout.strip.bottom() - 3, right - left, 2), colour)
            text = tr("prompt of {request}", request=int(record["request"]))
            self._write(painter, text, left, right, layout.strip)

    def _paint_steps(self, painter: QPainter, layout: TimelineLayout, begin: int, end: int) -> None:
        lane = self.view.lanes.steps
        records = lane.records[lane.window(begin, end)]
        if not len(records):
            return
        apart = layout.device.width() / max(1, len(records))
        if apart < _STEP_LINE_ROOM:
            return
        free = -1.0
        for record in records:
            x, right = layout.x(int(record["begin_ns"]), int(record["end_ns"]), begin, end)
            if x < layout.device.left():
                continue
            painter.setPen(self.look.mark_pen)
            painter.drawLine(QPointF(x, layout.steps.top() + 2), QPointF(x, layout.bottom))
            if apart >= _STEP_LABEL_ROOM and x >= free:
                took = int(record["end_ns"]) - int(record["begin_ns"])
                text = tr("step {number}", number=f"{int(record['step']):,}")
                longer = f"{text} · {ticks.duration(took)}"
                room = min(right, layout.device.right()) - x - 6
                advance = self.look.small_size.horizontalAdvance
                text = longer if advance(longer) < room else text
                if advance(text) < room:
                    painter.setPen(self.look.muted)
                    baseline = layout.steps.top() + self.look.small_size.ascent()
                    painter.drawText(QPointF(x + 4, baseline), text)
                    free = x + 4 + advance(text)

    def _paint_layers(
        self, painter: QPainter, layout: TimelineLayout, begin: int, end: int
    ) -> None:
        """The numbers of layers over the device's records that are wide enough."""
        lane = self.view.lanes.device
        window = lane.window(begin, end)
        lengths = lane.ends[window] - lane.begins[window]
        least = (end - begin) * self.look.small_size.horizontalAdvance("0") / layout.device.width()
        wide = window.start + np.flatnonzero(lengths > least * 1.2)
        if len(wide) > layout.device.width() / 4:
            return
        names = {Event.FRONT: tr("front"), Event.HEAD: tr("head"), Event.SAMPLE: tr("sample")}
        painter.setPen(self.look.muted)
        for place in wide.tolist():
            record = lane.records[place]
            if int(record["event"]) == Event.WAVE and int(record["request"]) >= 0:
                continue  # of a prompt, whose name stands here
            left, right = layout.x(int(lane.begins[place]), int(lane.ends[place]), begin, end)
            layer = int(record["layer"])
            text = f"{layer}" if layer >= 0 else names.get(Event(int(record["event"])), "")
            if layer >= 0 and right - left > 60:
                text = tr("layer {number}", number=layer)
            self._write(painter, text, left, right, layout.strip)

    def _write(self, painter: QPainter, text: str, left: float, right: float, row: QRectF) -> None:
        left, right = max(left, row.left()), min(right, row.right())
        if self.look.small_size.horizontalAdvance(text) + 2 <= right - left:
            painter.setPen(self.look.muted)
            rect = QRectF(left, row.top(), right - left, row.height() - 3)
            painter.drawText(rect, int(Qt.AlignmentFlag.AlignCenter), text)

    def _paint_times(self, painter: QPainter, layout: TimelineLayout, begin: int, end: int) -> None:
        look, axis = self.look, layout.axis
        # Times count from the end while it moves, so that the axis stands still.
        zero = end if not self.view.frozen else self._zero(begin, end)
        step = ticks.nice_step((end - begin) / 1e9, max(2, int(axis.width() / 90))) * 1e9
        free = axis.left()
        for k in range(int(np.ceil((begin - zero) / step)), int((end - zero) // step) + 1):
            x = axis.left() + (zero + k * step - begin) / (end - begin) * axis.width()
            text = ticks.duration(abs(k * step)) if k else "0"
            text = f"−{text}" if k < 0 else text
            width = look.small_size.horizontalAdvance(text)
            left = min(max(x - width / 2, axis.left()), axis.right() - width)
            painter.setPen(look.grid_pen)
            painter.drawLine(QPointF(x, axis.top()), QPointF(x, axis.top() + 4))
            if left >= free:
                painter.setPen(look.muted)
                painter.drawText(QPointF(left, axis.bottom() - look.small_size.descent()), text)
                free = left + width + 8

    def _zero(self, begin: int, end: int) -> int:
        """The begin of the first step in view, from which a picture that stands still counts."""
        steps = self.view.lanes.steps
        window = steps.window(begin, end)
        inside = steps.begins[window][steps.begins[window] >= begin]
        return int(inside[0]) if len(inside) else begin

    # Events.

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Take hold of it."""
        if event.button() is Qt.MouseButton.LeftButton:
            self._dragged_from = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Drag it, or hear what is under the pointer."""
        x = event.position().x()
        if self._dragged_from is None:
            self._explain(event.position(), event.globalPosition().toPoint())
        elif abs(x - self._dragged_from) >= 1:
            width = self._layout(self.width(), self.height()).device.width()
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.view.pan((self._dragged_from - x) / width)
            self._dragged_from = x
            self._changed()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Let it go."""
        self._dragged_from = None
        self.unsetCursor()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Fit the step that was meant; again: back to the newest."""
        self._dragged_from = None
        begin, end = self.view.window()
        self.view.fit(begin + self._share_at(event.position().x()) * (end - begin))
        self._changed()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802, Qt's name
        """Zoom, or move sideways."""
        turned = event.angleDelta()
        if abs(turned.x()) > abs(turned.y()):
            self.view.pan(-turned.x() / 1200)
        else:
            self.view.zoom(0.8 ** (turned.y() / 120), self._share_at(event.position().x()))
        event.accept()
        self._changed()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802, Qt's name
        """All of it without a mouse."""
        match event.key():
            case Qt.Key.Key_Space:
                self.set_frozen(not self.view.frozen)
            case Qt.Key.Key_Left | Qt.Key.Key_Right as key:
                self.view.pan(-0.1 if key == Qt.Key.Key_Left else 0.1)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.view.zoom(0.8, 0.5)
            case Qt.Key.Key_Minus:
                self.view.zoom(1.25, 0.5)
            case Qt.Key.Key_End:
                self.view.follow()
            case _:
                super().keyPressEvent(event)
                return
        self._changed()

    def _share_at(self, x: float) -> float:
        device = self._layout(self.width(), self.height()).device
        return min(1.0, max(0.0, (x - device.left()) / device.width()))

    def _explain(self, position: QPointF, on_screen: QPoint) -> None:
        text = self.text_at(position)
        if text:
            QToolTip.showText(on_screen, text, self)
        else:
            QToolTip.hideText()

    def text_at(self, position: QPointF) -> str:
        """What a person is told who points there; "" where nothing is."""
        layout = self._layout(self.width(), self.height())
        begin, end = self.view.window()
        if not layout.device.left() <= position.x() <= layout.device.right():
            return ""
        time = begin + self._share_at(position.x()) * (end - begin)
        lanes: Lanes = self.view.lanes
        lane: Lane | None = None
        if layout.strip.top() <= position.y() <= layout.device.bottom():
            lane = lanes.device
        for number, rect in layout.readers.items():
            if rect.top() <= position.y() <= rect.bottom():
                lane = lanes.readers[number]
        # A pixel or two of mercy for what is thin.
        mercy = 1.5 * (end - begin) / layout.device.width()
        return words_of(self._history, lanes, lane, time, mercy) if lane is not None else ""

    def _changed(self) -> None:
        self.update()
        self.frozen_changed.emit(self.view.frozen)

    def _on_theme_changed(self) -> None:
        self.look = Look(self._theme)
        self._shades = _shades(self.look)
        self.update()


def _aligned(begin: int, end: int, width: int) -> tuple[int, int]:
    """The same window, beginning at a border of columns, so that nothing shimmers as it moves."""
    column = max(1, (end - begin) // max(1, width))
    first = begin // column * column
    return first, first + column * max(1, width)


def _draw(painter: QPainter, rect: QRectF, pixels: Pixels) -> None:
    height, width = pixels.shape
    image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_ARGB32)
    painter.drawImage(rect, image)


def _shades(look: Look) -> Shades:
    return Shades(
        requests=look.rgb,
        front=_rgb(mixed(look.muted, look.raised, 0.1)),
        head=_rgb(mixed(look.text, look.raised, 0.35)),
        sample=_rgb(mixed(look.muted, look.raised, 0.55)),
        all_requests=_rgb(look.shared),
    )


def _rgb(colour: QColor) -> int:
    return colour.rgb() & 0xFFFFFF
