"""Row: one message in the transcript: its text, its bubble, what stands below."""

import math

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter

from app.chat.body import Body
from app.chat.chat_style import (
    BUBBLE_PADDING,
    BUBBLE_RADIUS,
    BUBBLE_SHARE,
    FOOTER,
    MESSAGE_GAP,
    ChatStyle,
)
from app.chat.piece import Piece, PlainPiece
from app.chat.row_actions import RowActions, figures_of
from app.chat.status_piece import ErrorPiece, ProgressPiece
from app.chat.thinking import answer_of
from app.data.conversation import Message
from app.language import tr

Place = tuple[int, int]  # piece, character
END = 1 << 30  # a character beyond the last of any piece


class Live:
    """How a reply that streams is doing."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self.n_tokens = 0
        self.tokens_per_s = 0.0


class Row:
    """Coordinates are the row's: (0, 0) at its top left, as wide as the column."""

    def __init__(self, message: Message, style: ChatStyle):
        self.message = message
        self.style = style
        self.body = Body(style)
        self.actions = RowActions(style)
        self.width = 0.0
        self._is_last = False
        self._bubble = QRectF()

    @property
    def is_user(self) -> bool:
        """Whether a person wrote it."""
        return self.message.role == "user"

    @property
    def height(self) -> int:
        """Estimated where the body is."""
        padding = 2 * BUBBLE_PADDING[1] if self.is_user else 0
        return math.ceil(self.body.height) + padding + FOOTER + MESSAGE_GAP

    @property
    def origin(self) -> QPointF:
        """Where the body begins."""
        if self.is_user:
            # Lines are set apart below their text, which would look too high in the bubble.
            return QPointF(self._bubble.left() + BUBBLE_PADDING[0], BUBBLE_PADDING[1] + 2)
        return QPointF(0, 0)

    def set_message(
        self,
        message: Message,
        live: Live | None,
        *,
        is_busy: bool,
        is_last: bool,
        shows_thinking: bool,
    ) -> None:
        """Show what the message is now; `is_busy`: its chat streams."""
        is_first = self.width == 0.0
        text_changed = is_first or message.text != self.message.text
        state_changed = is_first or message.state != self.message.state
        self.message = message
        self._is_last = is_last
        if self.is_user:
            if text_changed:
                self.body.set_plain(message.text)
                self._fit()
        elif text_changed or state_changed:
            self.body.set_reply(
                message.text, is_final=message.state != "streaming", shows_thinking=shows_thinking
            )
        self.body.set_tail(self._tail(live))
        figures = ""
        if not self.is_user:
            tokens = (live.n_tokens, live.tokens_per_s) if live else (0, 0.0)
            figures = figures_of(message, *tokens)
        self.actions.set_message(message, is_busy=is_busy, is_last=is_last, figures=figures)

    def set_width(self, width: float) -> None:
        """Of the column."""
        if width != self.width:
            self.width = width
            if self.is_user:
                self._fit()
            else:
                self.body.set_width(width)

    def lay_out(self, top: float, bottom: float, deadline: float) -> bool:
        """As Body.lay_out, in the row's coordinates."""
        y = self.origin.y()
        if not self.body.is_read:
            self.body.read_on(deadline)
        return self.body.lay_out(top - y, bottom - y, deadline) and self.body.is_read

    def paint(
        self,
        painter: QPainter,
        clip: QRectF,
        selected: tuple[Place, Place] | None,
        pointer: QPointF | None,
    ) -> None:
        """Draw what crosses `clip`; `pointer` is None when it is elsewhere."""
        if self.is_user:
            self._bubble.setHeight(self.body.height + 2 * BUBBLE_PADDING[1])
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.style.colour("user_bubble"))
            painter.drawRoundedRect(self._bubble, BUBBLE_RADIUS, BUBBLE_RADIUS)
        self._paint_body(painter, clip, selected)
        footer = QRectF(0, self.height - MESSAGE_GAP - FOOTER, self.width, FOOTER)
        if footer.intersects(clip):
            self.actions.place(footer)
            shows = pointer is not None or self._is_last
            shows = shows and self.message.state != "streaming"
            self.actions.paint(painter, pointer, shows_buttons=shows)

    def place_at(self, point: QPointF) -> Place:
        """The character nearest to a point."""
        inner = point - self.origin
        index = self.body.index_at(inner.y())
        if index < 0:
            return (0, 0)
        piece = self.body.pieces[index]
        return (index, piece.position_at(inner - QPointF(0, self.body.top_of(index))))

    def piece_at(self, point: QPointF) -> tuple[Piece | None, str]:
        """The piece below a point, and what a click there would do."""
        inner = point - self.origin
        if not 0 <= inner.y() < self.body.height or not self.body.pieces:
            return None, ""
        index = self.body.index_at(inner.y())
        piece = self.body.pieces[index]
        return piece, piece.target_at(inner - QPointF(0, self.body.top_of(index)))

    def text_between(self, first: Place, last: Place) -> str:
        """The selected characters as text."""
        text = ""
        for index in range(first[0], min(last[0], len(self.body.pieces) - 1) + 1):
            piece = self.body.pieces[index]
            start = first[1] if index == first[0] else 0
            end = last[1] if index == last[0] else END
            part = piece.text((start, end))
            if part:
                text += piece.joint if text else ""
                text += part
        return text

    def places_of(self, words: str) -> list[tuple[Place, Place]]:
        """Where the words stand in what is shown, first and last place of each."""
        self.body.read_on(math.inf)
        return [
            ((index, start), (index, end))
            for index, piece in enumerate(self.body.pieces)
            for start, end in piece.places_of(words)
        ]

    def y_of(self, place: Place) -> float:
        """The top of the line of a place; everything above it is laid out for that."""
        index, position = place
        self.body.lay_out(0, math.inf, math.inf)
        return self.origin.y() + self.body.top_of(index) + self.body.pieces[index].y_of(position)

    def whole(self) -> tuple[Place, Place]:
        """From the first to the last character."""
        last = len(self.body.pieces) - 1
        return (0, 0), (max(0, last), END)

    def copied(self) -> str:
        """What copying the message gives: Markdown, without the thinking."""
        return self.message.text if self.is_user else answer_of(self.message.text)

    def _paint_body(
        self, painter: QPainter, clip: QRectF, selected: tuple[Place, Place] | None
    ) -> None:
        body, origin = self.body, self.origin
        index = body.index_at(clip.top() - origin.y())
        while 0 <= index < len(body.pieces) and body.tops[index] + origin.y() < clip.bottom():
            piece = body.pieces[index]
            y = origin.y() + body.top_of(index)
            span = None
            if selected and selected[0][0] <= index <= selected[1][0]:
                start = selected[0][1] if index == selected[0][0] else 0
                end = selected[1][1] if index == selected[1][0] else END
                span = (start, end)
            if piece.width == 0:
                piece.width = body.width
            painter.save()
            painter.translate(origin.x(), y)
            piece.paint(painter, clip.translated(-origin.x(), -y), span)
            painter.restore()
            index += 1

    def _fit(self) -> None:
        """Make the bubble as wide as its text needs."""
        if not self.width:
            return
        most = self.width * BUBBLE_SHARE - 2 * BUBBLE_PADDING[0]
        inner = most
        if len(self.body.pieces) == 1 and isinstance(self.body.pieces[0], PlainPiece):
            inner = self.body.pieces[0].ideal_width(most)
        self.body.set_width(inner)
        self.body.lay_out(0, 0.5, math.inf)
        width = inner + 2 * BUBBLE_PADDING[0]
        self._bubble = QRectF(self.width - width, 0, width, 0)

    def _tail(self, live: Live | None) -> list[Piece]:
        message = self.message
        if self.is_user:
            return []
        if message.state == "failed":
            reason = message.result.detail if message.result else ""
            return [ErrorPiece(self.style, reason or tr("The reply failed."))]
        if message.state == "streaming" and not message.text:
            done, total = (live.done, live.total) if live else (0, 0)
            return [ProgressPiece(self.style, done, total)]
        return []


def estimated_height(message: Message, width: float, style: ChatStyle) -> int:
    """About what a Row of this message would be high."""
    is_user = message.role == "user"
    inner = width * BUBBLE_SHARE - 2 * BUBBLE_PADDING[0] if is_user else width
    text = message.text
    n_lines = len(text) * style.char_width / max(60.0, inner) + text.count("\n") * 0.7 + 0.6
    padding = 2 * BUBBLE_PADDING[1] if is_user else 0
    return int(max(1.0, n_lines) * style.line_height) + padding + FOOTER + MESSAGE_GAP
