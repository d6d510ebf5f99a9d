"""Legend: a chart's title and what its colours mean, with the values under the pointer."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme.theme import SPACE_S, SPACE_XS, Theme

_BOX = 9


class Legend(QWidget):
    """One line; names give way before values do."""

    def __init__(self, theme: Theme, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._title = title
        self._entries: list[tuple[str, str]] = []
        self._values: list[str] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.updateGeometry)

    def show_entries(self, entries: Sequence[tuple[str, str]]) -> None:
        """Show (name, colour)."""
        self._entries, self._values = list(entries), []
        self.update()

    def show_values(self, values: Sequence[str]) -> None:
        """Show a value beside each name; "" for none."""
        if list(values) != self._values:
            self._values = list(values)
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """One line."""
        return QSize(120, QFontMetrics(self._theme.text_font()).height() + SPACE_XS)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw the line."""
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bold, small = self._theme.text_font(), self._theme.text_font()
        bold.setWeight(bold.Weight.DemiBold)
        small.setPointSizeF(self._theme.font_size * 0.9)
        painter.setFont(bold)
        painter.setPen(QColor(palette.text))
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.rect(), left, self._title)
        x = painter.fontMetrics().horizontalAdvance(self._title) + 2 * SPACE_S
        painter.setFont(small)
        metrics = painter.fontMetrics()
        for n, (name, colour) in enumerate(self._entries):
            value = self._values[n] if n < len(self._values) else ""
            text = f"{name} {value}" if value else name
            width = metrics.horizontalAdvance(text)
            if x + _BOX + SPACE_XS + width > self.width() and value:
                text, width = value, metrics.horizontalAdvance(value)
            if x + _BOX + SPACE_XS + width > self.width():
                break
            box = QRectF(x, (self.height() - _BOX) / 2, _BOX, _BOX)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colour))
            painter.drawRoundedRect(box, 2.5, 2.5)
            painter.setPen(QColor(palette.text if value else palette.muted))
            line = self.rect().adjusted(round(x) + _BOX + SPACE_XS, 0, 0, 0)
            painter.drawText(line, left, text)
            x += _BOX + SPACE_XS + width + SPACE_S + SPACE_XS
        painter.end()
