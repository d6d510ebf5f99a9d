"""Section: one part of a reply, its thinking or its answer, as pieces."""

from collections.abc import Iterator, Sequence

from app.chat.chat_style import ChatStyle
from app.chat.code_piece import CodePart, code_pieces
from app.chat.fold_piece import FoldPiece
from app.chat.highlight import Highlight
from app.chat.markdown import Block, BlockSplitter
from app.chat.piece import Piece, QuotePiece, RulePiece, TextPiece
from app.chat.thinking import Part

STEP = 12_000  # characters that become blocks at a time; about 15 ms


class Section:
    """Grows with its part: blocks that are frozen keep their pieces.

    Attributes:
        is_thinking: It has a head that folds it; folded, it is not even split into blocks.
    """

    def __init__(self, style: ChatStyle, *, is_thinking: bool):
        self.is_thinking = is_thinking
        self._style = style
        self._head: FoldPiece | None = None
        self._is_open = True
        self._reset()

    def _reset(self) -> None:
        self._text = ""
        self._is_final = False
        self._n_fed = 0
        self._splitter = BlockSplitter()
        self._body: list[Piece] = []
        self._starts: list[int] = []  # first piece of each block
        self._highlights: dict[int, Highlight] = {}

    @property
    def pieces(self) -> list[Piece]:
        """Head and body, as far as they are shown."""
        head: list[Piece] = [self._head] if self._head else []
        return [*head, *self._body] if self._is_open else head

    @property
    def is_read(self) -> bool:
        """Whether all text that is shown has become pieces."""
        return not self._is_open or self._n_fed >= len(self._text)

    @property
    def unread_height(self) -> float:
        """About how high the rest will be."""
        if self.is_read:
            return 0.0
        n_lines = (len(self._text) - self._n_fed) * self._style.char_width / 560
        return n_lines * self._style.line_height

    def set_part(self, index: int, part: Part, *, is_final: bool, is_open: bool) -> None:
        """Take the part as it is now; a long one is not read at once."""
        if part.is_thinking:
            self._set_head(index, part, is_final=is_final, is_open=is_open)
        if not self._is_open or (part.text, is_final) == (self._text, self._is_final):
            return
        if not part.text.startswith(self._text):
            self._reset()
        self._text, self._is_final = part.text, is_final
        self._feed(min(len(self._text), self._n_fed + STEP))

    def read_on(self) -> None:
        """Turn the next STEP characters into pieces."""
        if not self.is_read:
            self._feed(min(len(self._text), self._n_fed + STEP))

    def _set_head(self, index: int, part: Part, *, is_final: bool, is_open: bool) -> None:
        self._is_open = is_open
        n_words = part.text.count(" ") + 1 if part.text.strip() else 0
        is_on = part.is_open and not is_final  # a reply that was stopped thinks no longer
        head = FoldPiece(index, n_words, self._style, is_open=is_open, is_on=is_on)
        if self._head is None or self._head.key != head.key:
            self._head = head

    def _feed(self, n: int) -> None:
        self._n_fed = n
        is_final = self._is_final and n == len(self._text)
        first = self._splitter.feed(self._text[:n], is_final=is_final)
        keep = self._starts[first] if first < len(self._starts) else len(self._body)
        old = self._body[keep:]
        del self._body[keep:]
        del self._starts[first:]
        for index in range(first, len(self._splitter.blocks)):
            self._starts.append(len(self._body))
            self._body.extend(self._pieces(index, self._splitter.blocks[index]))
        self._reuse(keep, old)

    def _reuse(self, first: int, old: Sequence[Piece]) -> None:
        """Pieces that look as before stay the same objects, with their layouts."""
        for index, (new, before) in enumerate(zip(self._body[first:], old, strict=False), first):
            if new.key == before.key:
                self._body[index] = before
                continue
            if type(new) is type(before) and before.is_laid_out:
                new.height = before.height  # nearer than an estimate
            if isinstance(new, CodePart) and isinstance(before, CodePart):
                new.grow_from(before)

    def _pieces(self, index: int, block: Block) -> Iterator[Piece]:
        if block.kind == "code":
            highlight = self._highlights.get(index)
            if highlight is None or highlight.language != block.language:
                highlight = self._highlights[index] = Highlight(block.language)
            yield from code_pieces(block, highlight, self._style)
        elif block.kind == "rule":
            yield RulePiece(self._style)
        elif block.kind == "quote":
            yield QuotePiece(block, self._style)
        else:
            yield TextPiece(block, self._style, is_muted=self.is_thinking)
