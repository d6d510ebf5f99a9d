"""PictureView: paints the timeline of a few steps; the wheel zooms, dragging moves."""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.language import tr
from app.runs.picture import SHARED, Block, Picture
from app.theme.theme import SPACE_S, Theme

DEVICE_HEIGHT = 56.0
READER_HEIGHT = 16.0
GAP = 4.0
LEFT = 64.0
TOP = 22.0
BOTTOM = 24.0


class PictureView(QWidget):
    """Upper lane: the device, groups striped by their requests. Below: what each reader reads."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._picture: Picture | None = None
        self._from, self._to = 0.0, 1.0  # ms that are shown
        self._dragged: float | None = None  # x
        self.setAccessibleName(tr("Timeline of steps"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTipDuration(20_000)
        theme.changed.connect(self.update)

    def show_picture(self, picture: Picture | None) -> None:
        """Show it whole; None: nothing yet."""
        self._picture = picture
        self.show_all()
        self.updateGeometry()

    def show_all(self) -> None:
        """From the first step's begin to the last one's end."""
        self._from, self._to = 0.0, self._picture.length_ms if self._picture else 1.0
        self.update()

    def zoom(self, factor: float, at: float | None = None) -> None:
        """Show `factor` times the time around `at`, in ms."""
        if self._picture is None:
            return
        at = (self._from + self._to) / 2 if at is None else at
        length = min(self._picture.length_ms, max(0.02, (self._to - self._from) * factor))
        share = (at - self._from) / max(1e-9, self._to - self._from)
        self._show_from(at - share * length, length)

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """As high as there are lanes."""
        n_readers = len(self._picture.lanes) - 1 if self._picture else 4
        height = TOP + DEVICE_HEIGHT + n_readers * (READER_HEIGHT + GAP) + BOTTOM
        return QSize(400, round(height))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw what is in view."""
        painter = QPainter(self)
        palette = self._theme.palette
        painter.fillRect(self.rect(), QColor(palette.page))
        picture = self._picture
        if picture is None:
            painter.setPen(QColor(palette.muted))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, tr("Reading the steps…"))
            return
        font = self._theme.text_font()
        font.setPointSizeF(self._theme.font_size * 0.82)
        painter.setFont(font)
        self._paint_axis(painter, picture)
        painter.save()
        painter.setClipRect(QRectF(LEFT, 0, self.width() - LEFT, self.height()))
        order = {request: n for n, request in enumerate(picture.requests)}
        for block in picture.blocks:
            if block.end > self._from and block.begin < self._to:
                self._paint_block(painter, block, order)
        painter.restore()
        painter.setPen(QColor(palette.muted))
        for n, name in enumerate(picture.lanes):
            box = QRectF(0, self._lane_top(n), LEFT - SPACE_S, self._lane_height(n))
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, name)
        painter.end()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802, Qt's name
        """Zoom with Ctrl, so that the page can still be scrolled."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.angleDelta().y():
            self.zoom(0.8 if event.angleDelta().y() > 0 else 1.25, self._time(event.position().x()))
            event.accept()
        else:
            event.ignore()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Begin to move."""
        self._dragged = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Move what is shown."""
        if self._dragged is not None:
            moved = self._time(self._dragged) - self._time(event.position().x())
            self._dragged = event.position().x()
            self._show_from(self._from + moved, self._to - self._from)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """It stays where it is."""
        self._dragged = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Show all."""
        self.show_all()

    def event(self, event: QEvent) -> bool:
        """Tell what is under the pointer."""
        if isinstance(event, QHelpEvent):
            block = self.block_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), block.text if block else "", self)
            return True
        return super().event(event)

    def block_at(self, at: QPointF) -> Block | None:
        """What is drawn there."""
        picture = self._picture
        if picture is None or at.x() < LEFT:
            return None
        time = self._time(at.x())
        for n in range(len(picture.lanes)):
            if self._lane_top(n) <= at.y() <= self._lane_top(n) + self._lane_height(n):
                found = (b for b in picture.blocks if b.lane == n and b.begin <= time <= b.end)
                return next(found, None)
        return None

    def _paint_axis(self, painter: QPainter, picture: Picture) -> None:
        palette = self._theme.palette
        bottom = self.height() - BOTTOM
        step = _nice((self._to - self._from) / max(2, (self.width() - LEFT) / 90))
        at = -(-self._from // step) * step
        while at <= self._to:
            x = self._x(at)
            painter.setPen(QColor(palette.chart_grid))
            painter.drawLine(QPointF(x, TOP), QPointF(x, bottom))
            painter.setPen(QColor(palette.muted))
            box = QRectF(x - 40, bottom + 2, 80, BOTTOM - 4)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, f"{at:.4g} ms")
            at += step
        dashes = QPen(QColor(palette.muted), 1, Qt.PenStyle.DashLine)
        for begin, number in picture.marks:
            if self._from <= begin <= self._to:
                x = self._x(begin)
                painter.setPen(dashes)
                painter.drawLine(QPointF(x, 2), QPointF(x, bottom))
                box = QRectF(x + 4, 0, 160, TOP - 2)
                left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
                painter.drawText(box, left, tr("step {n}", n=number))

    def _paint_block(self, painter: QPainter, block: Block, order: dict[int, int]) -> None:
        palette = self._theme.palette
        x = self._x(block.begin)
        width = max(0.6, self._x(block.end) - x)
        height = self._lane_height(block.lane) / len(block.requests)
        top = self._lane_top(block.lane)
        for n, request in enumerate(block.requests):
            shared = request == SHARED
            colour = palette.muted if shared else palette.request_colour(order[request])
            rect = QRectF(x, top + n * height, width, height)
            if block.guess:
                soft = QColor(colour)
                soft.setAlphaF(0.35)
                painter.fillRect(rect, soft)
                painter.fillRect(rect, QBrush(QColor(colour), Qt.BrushStyle.BDiagPattern))
            else:
                painter.fillRect(rect, QColor(colour))
        if width > 3:
            painter.setPen(QPen(QColor(palette.page), 1))
            painter.drawLine(
                QPointF(x + width, top), QPointF(x + width, top + self._lane_height(block.lane))
            )
        if block.short and width > QFontMetricsF(painter.font()).horizontalAdvance(block.short) + 4:
            box = QRectF(x, top, width, self._lane_height(block.lane))
            painter.setPen(QColor(palette.page))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, block.short)

    def _show_from(self, begin: float, length: float) -> None:
        whole = self._picture.length_ms if self._picture else 1.0
        self._from = min(max(0.0, begin), max(0.0, whole - length))
        self._to = self._from + length
        self.update()

    def _x(self, time: float) -> float:
        return LEFT + (time - self._from) / (self._to - self._from) * (
            self.width() - LEFT - SPACE_S
        )

    def _time(self, x: float) -> float:
        return self._from + (x - LEFT) / (self.width() - LEFT - SPACE_S) * (self._to - self._from)

    def _lane_top(self, lane: int) -> float:
        if lane == 0:
            return TOP
        return TOP + DEVICE_HEIGHT + GAP + (lane - 1) * (READER_HEIGHT + GAP)

    def _lane_height(self, lane: int) -> float:
        return READER_HEIGHT if lane else DEVICE_HEIGHT


def _nice(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not less."""
    power = 1e-4
    while power * 5 < least:
        power *= 10
    return next(power * times for times in (1, 2, 5) if power * times >= least)
