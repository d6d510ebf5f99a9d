"""InFlight: how many requests are computed together, of how many there may be."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.monitor.look import Look
from app.theme.theme import Theme

_DOT, _GAP = 9.0, 4.0


class InFlight(QWidget):
    """A dot for each place; the taken ones are in their request's colour."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.look = Look(theme)
        self.requests: list[int] = []
        self.most = 0
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme.changed.connect(self._on_theme_changed)

    def show_requests(self, requests: list[int], most: int) -> None:
        """These, of so many."""
        if (requests, most) != (self.requests, self.most):
            if most != self.most:
                self.updateGeometry()
            self.requests, self.most = requests, most
            self.setAccessibleName(f"{len(requests)} / {most}")
            self.update()

    def hasHeightForWidth(self) -> bool:  # noqa: N802, Qt's name
        """Many places take several rows."""
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802, Qt's name
        """Of all rows."""
        rows = max(1, -(-self.most // self._columns(width)))
        return round(rows * (_DOT + _GAP))

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Sixteen in a row."""
        return QSize(round(16 * (_DOT + _GAP)), self.heightForWidth(round(16 * (_DOT + _GAP))))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw the dots."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        columns = self._columns(self.width())
        for place in range(self.most):
            taken = place < len(self.requests)
            colours = self.look.colours
            colour = colours[self.requests[place] % len(colours)] if taken else self.look.grid
            painter.setBrush(colour)
            x, y = place % columns * (_DOT + _GAP), place // columns * (_DOT + _GAP)
            painter.drawEllipse(QRectF(x, y + _GAP / 2, _DOT, _DOT))
        painter.end()

    @staticmethod
    def _columns(width: int) -> int:
        fit = max(1, int((width + _GAP) // (_DOT + _GAP)))
        return next((n for n in (64, 32, 16, 8) if n <= fit), fit)

    def _on_theme_changed(self) -> None:
        self.look = Look(self._theme)
        self.update()
