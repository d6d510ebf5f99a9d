"""Body: the text of one message as pieces below each other."""

import bisect
import time
from collections.abc import Iterator

from app.chat.chat_style import ChatStyle
from app.chat.code_piece import CodePart
from app.chat.piece import Piece, PlainPiece
from app.chat.section import Section
from app.chat.thinking import Part, split_thinking

PLAIN_CHARACTERS = 4_000  # about the most of plain text in one piece


class Body:
    """Lays out what is near the viewport, forgets what is far, and keeps heights of both.

    Attributes:
        pieces: From top to bottom.
        tops: Where each begins; one more entry than pieces, the last is the height.
    """

    def __init__(self, style: ChatStyle):
        self.style = style
        self.pieces: list[Piece] = []
        self.tops: list[float] = [0.0]
        self.width = 0.0
        self._sections: list[Section] = []
        self._unfolded: set[int] = set()
        self._folded: set[int] = set()
        self._shows_thinking = False
        self._is_final = True
        self._parts: list[Part] = []
        self._plain: list[Piece] = []
        self._tail: list[Piece] = []

    @property
    def height(self) -> float:
        """Of all pieces; estimated where they are not laid out, or not even read."""
        return self.tops[-1] + sum(each.unread_height for each in self._sections)

    @property
    def is_read(self) -> bool:
        """Whether all text has become pieces."""
        return all(each.is_read for each in self._sections)

    # Content.

    def set_plain(self, text: str) -> None:
        """Show text as it is."""
        self._plain = [
            PlainPiece(each, self.style, goes_on=goes_on) for each, goes_on in _plain_parts(text)
        ]
        self._collect()

    def set_tail(self, pieces: list[Piece]) -> None:
        """What stands below the text: progress, an error."""
        if [each.key for each in pieces] != [each.key for each in self._tail]:
            self._tail = pieces
            self._collect()

    def set_reply(self, text: str, *, is_final: bool, shows_thinking: bool) -> None:
        """Show a reply so far; cheap when it only adds to what was shown."""
        self._parts = split_thinking(text, is_final=is_final)
        self._shows_thinking, self._is_final = shows_thinking, is_final
        self._update()

    def fold(self, index: int) -> None:
        """Show or hide thinking part `index`."""
        is_open = self._is_open(index)
        (self._unfolded.discard if is_open else self._unfolded.add)(index)
        (self._folded.add if is_open else self._folded.discard)(index)
        self._update()

    def read_on(self, deadline: float) -> bool:
        """Turn more text into pieces until `deadline`; whether anything changed."""
        changed = False
        while not self.is_read and time.perf_counter() < deadline:
            for section in self._sections:
                section.read_on()
            changed = True
        if changed:
            self._collect()
        return changed

    # Layout.

    def set_width(self, width: float) -> None:
        """Pieces that were laid out for another width are estimates from now on."""
        self.width = width

    def lay_out(self, top: float, bottom: float, deadline: float) -> bool:
        """Make pieces between two heights exact; False when `deadline` came first."""
        index = self.index_at(top)
        while index < len(self.pieces) and self.tops[index] < bottom:
            piece = self.pieces[index]
            if not piece.is_laid_out or piece.width != self.width:
                if time.perf_counter() > deadline:
                    return False
                piece.lay_out(self.width)
            if self.tops[index + 1] != self.top_of(index) + piece.height:
                self._place(index)
            index += 1
        return True

    def forget(self, top: float, bottom: float) -> None:
        """Give up layouts outside of two heights."""
        for index, piece in enumerate(self.pieces):
            if self.tops[index + 1] < top or self.tops[index] > bottom:
                piece.forget()

    def colour(self, top: float, bottom: float, deadline: float) -> tuple[bool, bool]:
        """Go on with the colours of code between two heights: (something changed, all done)."""
        changed, done = False, True
        for index in range(self.index_at(top), len(self.pieces)):
            if self.tops[index] > bottom:
                break
            piece = self.pieces[index]
            if isinstance(piece, CodePart):
                changed |= piece.highlight.advance(deadline)
                done &= piece.highlight.is_done
                piece.show_colours()
        return changed, done

    def index_at(self, y: float) -> int:
        """The piece at a height, the nearest one outside."""
        found = bisect.bisect_right(self.tops, y) - 1
        return max(0, min(found, len(self.pieces) - 1))

    def _place(self, first: int) -> None:
        del self.tops[first + 1 :]
        if first == 0:
            self.tops = [0.0]
        y = self.tops[-1]
        for index in range(first, len(self.pieces)):
            piece = self.pieces[index]
            # The space above belongs to the piece's place, so that clicks there find it.
            y += piece.height + (piece.gap if index else 0.0)
            self.tops.append(y)

    def top_of(self, index: int) -> float:
        """Where the piece itself begins, below the space above it."""
        return self.tops[index] + (self.pieces[index].gap if index else 0.0)

    # Sections.

    def _is_open(self, index: int) -> bool:
        return index in self._unfolded or (self._shows_thinking and index not in self._folded)

    def _update(self) -> None:
        del self._sections[len(self._parts) :]
        for index, part in enumerate(self._parts):
            if index < len(self._sections) and (
                self._sections[index].is_thinking != part.is_thinking
            ):
                del self._sections[index:]  # a marker has turned an answer into thinking
            if index == len(self._sections):
                self._sections.append(Section(self.style, is_thinking=part.is_thinking))
            is_last = index == len(self._parts) - 1
            self._sections[index].set_part(
                index,
                part,
                is_final=self._is_final or not is_last,
                is_open=self._is_open(index),
            )
        self._collect()

    def _collect(self) -> None:
        sections = [piece for section in self._sections for piece in section.pieces]
        pieces = [*self._plain, *sections, *self._tail]
        same = 0
        for old, new in zip(self.pieces, pieces, strict=False):
            if old is not new:
                break
            same += 1
        self.pieces = pieces
        self._place(min(same, len(self.tops) - 1))


def _plain_parts(text: str) -> Iterator[tuple[str, bool]]:
    """Whole lines of about PLAIN_CHARACTERS together, or a part of a longer one.

    The second is whether a part goes on within the line of the one before.
    """
    lines: list[str] = []
    n = 0
    for line in text.split("\n"):
        if lines and n + len(line) > PLAIN_CHARACTERS:
            yield "\n".join(lines), False
            lines, n = [], 0
        begin = 0
        while len(line) - begin > PLAIN_CHARACTERS:
            end = begin + PLAIN_CHARACTERS
            end = line.rfind(" ", end - PLAIN_CHARACTERS // 8, end) + 1 or end  # between words
            yield line[begin:end], begin > 0
            begin = end
        if begin:
            yield line[begin:], True
            continue
        lines.append(line)
        n += len(line) + 1
    if lines:
        yield "\n".join(lines), False
