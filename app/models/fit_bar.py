"""FitBar: the computer's memory as one bar: what others use, and what the model will take."""

from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme.theme import Theme

HEIGHT = 22


class Part(msgspec.Struct, frozen=True):
    """`maybe`: may be taken later; drawn hatched."""

    n_bytes: int
    colour: str
    maybe: bool = False


class FitBar(QWidget):
    """Parts side by side; a line marks all memory there is when they are more than that."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._parts: tuple[Part, ...] = ()
        self._total = 1
        self._limit = 1
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_parts(self, parts: Sequence[Part], total: int, limit: int) -> None:
        """Show parts of `total` bytes; `limit` is where the spare memory begins."""
        self._parts, self._total, self._limit = tuple(parts), max(1, total), limit
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """As wide as there is room."""
        return QSize(240, HEIGHT + 6)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw the bar."""
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(0, 3, self.width(), HEIGHT)
        shape = QPainterPath()
        shape.addRoundedRect(box, 6, 6)
        painter.fillPath(shape, QColor(palette.hover))
        painter.setClipPath(shape)
        scale = box.width() / max(self._total, sum(part.n_bytes for part in self._parts))
        x = 0.0
        for part in self._parts:
            width = part.n_bytes * scale
            self._paint_part(painter, QRectF(x, box.top(), width, HEIGHT), part)
            x += width
        painter.setClipping(False)
        for at, colour, style in (
            (self._limit, palette.muted, Qt.PenStyle.DotLine),
            (self._total, palette.danger, Qt.PenStyle.SolidLine),
        ):
            if at * scale < box.width() - 0.5:
                painter.setPen(QPen(QColor(colour), 2, style))
                painter.drawLine(round(at * scale), 0, round(at * scale), self.height())
        painter.end()

    def _paint_part(self, painter: QPainter, rect: QRectF, part: Part) -> None:
        colour = QColor(part.colour)
        if part.maybe:
            soft = QColor(colour)
            soft.setAlphaF(0.3)
            painter.fillRect(rect, soft)
            painter.fillRect(rect, QBrush(colour, Qt.BrushStyle.BDiagPattern))
        else:
            painter.fillRect(rect, colour)
        painter.setPen(QPen(QColor(self._theme.palette.raised), 1))
        painter.drawLine(rect.topRight(), rect.bottomRight())
