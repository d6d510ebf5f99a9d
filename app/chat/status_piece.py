"""What stands below a reply that has no end yet, or a bad one."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QTextDocument

from app.chat.chat_style import ChatStyle
from app.chat.piece import DocumentPiece, Piece, Span, set_line_height
from app.language import tr

RETRY = "retry:"
_RETRY_WIDTH = 84.0
_LINES = 120  # percent: the height of a line of the reason


class ProgressPiece(Piece):
    """ "Reading prompt 312/1,024" over a thin bar, or that the reply waits; total 0: it waits."""

    def __init__(self, style: ChatStyle, done: int, total: int):
        super().__init__(("progress", done, total), style)
        self.height = style.small_height + 14
        self.is_laid_out = True
        self._done = done
        self._total = total

    def lay_out(self, width: float) -> None:
        """As Piece says."""
        self.width = width

    def paint(self, painter: QPainter, clip: QRectF, selected: Span | None) -> None:
        """As Piece says."""
        label = tr("Waiting for its turn…")
        if self._total:
            label = tr(
                "Reading prompt {done}/{total}", done=f"{self._done:,}", total=f"{self._total:,}"
            )
        painter.setFont(self.style.small_font)
        painter.setPen(self.style.colour("muted"))
        painter.drawText(QRectF(0, 0, self.width, self.style.small_height), label)
        bar = QRectF(0, self.style.small_height + 6, min(self.width, 260.0), 3)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.style.colour("hover"))
        painter.drawRoundedRect(bar, 1.5, 1.5)
        if self._total:
            bar.setWidth(bar.width() * min(1.0, self._done / self._total))
            painter.setBrush(self.style.colour("accent"))
            painter.drawRoundedRect(bar, 1.5, 1.5)


class ErrorPiece(DocumentPiece):
    """Why a reply failed, with a way to try again."""

    def __init__(self, style: ChatStyle, reason: str):
        super().__init__(("error", reason), style)
        self._reason = reason
        # Lines are set apart below their text, which else would stand higher than "Retry".
        below = QFontMetricsF(style.text_font).lineSpacing() * (_LINES / 100 - 1)
        self.inset = (16.0, 12.0 + below / 2, 16.0 + _RETRY_WIDTH, 12.0 - below / 2)
        self.height = style.line_height + 24

    def fill(self, document: QTextDocument) -> None:
        """As DocumentPiece says."""
        document.setPlainText(self._reason)
        set_line_height(document, _LINES)

    def paint(self, painter: QPainter, clip: QRectF, selected: Span | None) -> None:
        """As Piece says."""
        danger = self.style.colour("danger")
        ground = self.style.colour("danger")
        ground.setAlpha(22)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(danger, 1))
        painter.setBrush(ground)
        painter.drawRoundedRect(QRectF(0.5, 0.5, self.width - 1, self.height - 1), 10, 10)
        painter.setPen(danger)
        painter.setFont(self.style.text_font)
        painter.drawText(self._retry_area(), Qt.AlignmentFlag.AlignCenter, tr("Retry"))
        super().paint(painter, clip, selected)

    def target_at(self, point: QPointF) -> str:
        """As Piece says."""
        return RETRY if self._retry_area().contains(point) else ""

    def _retry_area(self) -> QRectF:
        return QRectF(self.width - _RETRY_WIDTH - 6, 4, _RETRY_WIDTH, self.height - 8)
