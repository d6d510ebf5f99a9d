"""ContextMeter: how much of the context the chat takes, with what is being written."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.language import tr
from app.theme.theme import Theme

NEARLY_FULL = 0.8
FULL = 0.95


class ContextMeter(QWidget):
    """A ring and two numbers. Empty while nobody can count."""

    def __init__(self, theme: Theme, parent: QWidget | None = None):
        super().__init__(parent)
        self._theme = theme
        self.n_tokens = 0
        self.context = 0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def share(self) -> float:
        """0 to 1, or more when it does not fit."""
        return self.n_tokens / self.context if self.context else 0.0

    def set_tokens(self, n_tokens: int, context: int) -> None:
        """Show these; context 0: nobody can count."""
        self.n_tokens, self.context = n_tokens, context
        words = tr(
            "{n} of {total} tokens of the context are taken, with what you are writing.",
            n=f"{n_tokens:,}",
            total=f"{context:,}",
        )
        if self.share >= NEARLY_FULL:
            words += "\n" + tr("When it is full, you choose how to go on; nothing is cut silently.")
        self.setToolTip(words if context else "")
        self.setAccessibleName(words if context else "")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Room for the numbers."""
        if not self.context:
            return QSize(0, 20)
        return QSize(26 + self.fontMetrics().horizontalAdvance(self._text()), 20)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw ring and numbers."""
        if not self.context:
            return
        p = self._theme.palette
        colour = p.accent
        if self.share >= NEARLY_FULL:
            colour = p.danger if self.share >= FULL else p.warning
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ring = QRectF(2, self.height() / 2 - 7, 14, 14)
        painter.setPen(QPen(QColor(p.border), 2.5))
        painter.drawEllipse(ring)
        painter.setPen(QPen(QColor(colour), 2.5, c=Qt.PenCapStyle.FlatCap))
        painter.drawArc(ring, 90 * 16, -round(360 * 16 * min(1.0, self.share)))
        painter.setPen(QColor(p.muted if self.share < NEARLY_FULL else colour))
        area = QRectF(22, 0, self.width(), self.height())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, self._text())

    def _text(self) -> str:
        return f"{self.n_tokens:,} / {self.context:,}"
