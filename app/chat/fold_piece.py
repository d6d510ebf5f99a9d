"""FoldPiece: the line that stands for the model's thinking, and shows or hides it."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter

from app.chat.chat_style import ChatStyle
from app.chat.piece import Piece, Span
from app.language import tr

FOLD = "fold:"


class FoldPiece(Piece):
    """ "Thought: 212 words", with an arrow. A click folds or unfolds part number `index`."""

    def __init__(self, index: int, n_words: int, style: ChatStyle, *, is_open: bool, is_on: bool):
        """`is_open`: it is shown unfolded; `is_on`: the model still thinks."""
        super().__init__(("fold", index, n_words, is_open, is_on), style)
        self.index = index
        self.height = style.small_height + 12
        self.is_laid_out = True
        self._is_open = is_open
        words = tr("1 word") if n_words == 1 else tr("{n} words", n=f"{n_words:,}")
        self.label = (
            tr("Thinking: {words}…", words=words) if is_on else tr("Thought: {words}", words=words)
        )

    def lay_out(self, width: float) -> None:
        """As Piece says."""
        self.width = width

    def paint(self, painter: QPainter, clip: QRectF, selected: Span | None) -> None:
        """As Piece says."""
        theme = self.style.theme
        middle = round(self.height / 2)
        theme.icon("thinking", "muted").paint(painter, 0, middle - 8, 16, 16)
        painter.setFont(self.style.small_font)
        painter.setPen(self.style.colour("muted"))
        area = QRectF(23, 0, self.width, self.height)
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, self.label)
        end = 23 + painter.fontMetrics().horizontalAdvance(self.label) + 4
        arrow = "chevron-down" if self._is_open else "chevron-right"
        theme.icon(arrow, "muted").paint(painter, end, middle - 7, 14, 14)

    def target_at(self, point: QPointF) -> str:
        """As Piece says."""
        return f"{FOLD}{self.index}" if point.x() < 260 else ""
