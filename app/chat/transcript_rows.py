"""TranscriptRows: all messages of a conversation as heights, a few of them as rows."""

import math
import time
from collections.abc import Sequence

from app.chat.chat_style import ChatStyle
from app.chat.heights import Heights
from app.chat.row import Live, Row, estimated_height
from app.data.conversation import Message

# Small below, where the last row has its own gap: empty space there would be taken from a question
# above, which is cut then though there is room.
TOP, BOTTOM = 12, 4
MOST_ROWS = 80  # kept made; far ones are dropped first

Anchor = tuple[str, int, float]  # message, piece (-1: its top), offset from the viewport's top


class TranscriptRows:
    """Knows no widget. A message becomes a row when it comes near the viewport.

    Attributes:
        messages: The shown path.
        live: How replies that stream are doing, by message.
    """

    def __init__(self, style: ChatStyle):
        self.style = style
        self.messages: list[Message] = []
        self.live: dict[str, Live] = {}
        self.is_busy = False
        self.shows_thinking = False
        self.heights = Heights(TOP, BOTTOM)
        self.width = 0.0
        self._rows: dict[str, Row] = {}
        self._index: dict[str, int] = {}

    def set_style(self, style: ChatStyle) -> None:
        """Everything looks different."""
        self.style = style
        self._rows.clear()
        self._estimate()

    def set_messages(self, messages: Sequence[Message]) -> None:
        """Show another path; rows of messages that stay are kept."""
        self.messages = list(messages)
        self._index = {each.id: index for index, each in enumerate(self.messages)}
        self._rows = {id_: row for id_, row in self._rows.items() if id_ in self._index}
        self._estimate()

    def append(self, message: Message) -> None:
        """One more at the end."""
        self._index[message.id] = len(self.messages)
        self.messages.append(message)
        self.heights.append(estimated_height(message, self.width or 700, self.style))

    def change(self, message: Message) -> None:
        """The message has other text or another state."""
        index = self._index.get(message.id)
        if index is not None:
            self.messages[index] = message
            self.refresh(message.id)

    def refresh(self, message_id: str) -> None:
        """Take over what is known about a message into its row, if it has one."""
        row = self._rows.get(message_id)
        index = self._index.get(message_id)
        if row is not None and index is not None:
            self._update(row, self.messages[index])
            self.heights.set(index, row.height)

    def refresh_all(self) -> None:
        """As refresh, for all rows."""
        for message_id in self._rows:
            self.refresh(message_id)

    def set_width(self, width: float) -> None:
        """Of the column."""
        if width != self.width:
            self.width = width
            for row in self._rows.values():
                row.set_width(width)
            self._estimate()

    def index_of(self, message_id: str) -> int:
        """Where it is in the path; -1 when it is not."""
        return self._index.get(message_id, -1)

    def row(self, index: int) -> Row:
        """The row of a message, made when needed."""
        message = self.messages[index]
        row = self._rows.pop(message.id, None)
        if row is None:
            row = Row(message, self.style)
            self._update(row, message)
            row.set_width(self.width)
            self.heights.set(index, row.height)
        self._rows[message.id] = row  # last: used most recently
        return row

    def made(self, index: int) -> Row | None:
        """The row, if it has been made."""
        return self._rows.get(self.messages[index].id)

    def lay_out(self, top: float, bottom: float, deadline: float) -> bool:
        """Make exact what lies between two heights; False when `deadline` came first."""
        index = self.heights.index_at(top)
        while 0 <= index < len(self.messages) and (y := self.heights.top(index)) < bottom:
            if self.made(index) is None and time.perf_counter() > deadline:
                return False
            row = self.row(index)
            done = row.lay_out(top - y, bottom - y, deadline)
            self.heights.set(index, row.height)
            if not done:
                return False
            index += 1
        return True

    def colour(self, top: float, bottom: float, deadline: float) -> tuple[bool, bool]:
        """Go on with the colours of code: (something changed, all done)."""
        changed, done = False, True
        index = self.heights.index_at(top)
        while 0 <= index < len(self.messages) and (y := self.heights.top(index)) < bottom:
            row = self.made(index)
            if row is not None:
                changed_here, done_here = row.body.colour(top - y, bottom - y, deadline)
                changed |= changed_here
                done &= done_here
            index += 1
        return changed, done

    def forget(self, top: float, bottom: float) -> None:
        """Give up layouts outside of two heights, and the oldest rows when there are many."""
        for message_id in list(self._rows)[: max(0, len(self._rows) - MOST_ROWS)]:
            del self._rows[message_id]
        for message_id, row in self._rows.items():
            y = self.heights.top(self._index[message_id])
            row.body.forget(top - y, bottom - y)

    def anchor(self, top: int, bottom: int) -> Anchor | None:
        """What must not move on the screen while heights become exact.

        The first piece that is laid out and seen; else the first row that is seen.
        """
        first = self.heights.index_at(top)
        index = first
        while 0 <= index < len(self.messages) and (y := self.heights.top(index)) < bottom:
            row = self.made(index)
            if row is not None:
                start = y + row.origin.y()
                piece = max(0, row.body.index_at(top - start))
                for at in range(piece, len(row.body.pieces)):
                    place = start + row.body.tops[at]
                    if place > bottom:
                        break
                    if row.body.pieces[at].is_laid_out:
                        return self.messages[index].id, at, place - top
            index += 1
        if first < 0:
            return None
        return self.messages[first].id, -1, self.heights.top(first) - top

    def scroll_for(self, anchor: Anchor) -> int | None:
        """How far to scroll so that the anchor is where it was."""
        message_id, piece, offset = anchor
        index = self.index_of(message_id)
        if index < 0:
            return None
        y: float = self.heights.top(index)
        row = self.made(index)
        if piece >= 0 and row is not None and piece < len(row.body.tops):
            y += row.origin.y() + row.body.tops[piece]
        return math.floor(y - offset + 0.5)

    def _update(self, row: Row, message: Message) -> None:
        row.set_message(
            message,
            self.live.get(message.id),
            is_busy=self.is_busy,
            is_last=message.id == self.messages[-1].id,
            shows_thinking=self.shows_thinking,
        )

    def _estimate(self) -> None:
        width = self.width or 700.0
        self.heights.reset(
            row.height
            if (row := self._rows.get(each.id))
            else estimated_height(each, width, self.style)
            for each in self.messages
        )
