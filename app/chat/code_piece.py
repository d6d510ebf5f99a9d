"""Code on the screen: a head with the language and a copy button, then parts of a few lines each.

Long code is many small documents, so that only what is seen of it is laid out.
"""

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QPainter,
    QPainterPath,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextLayout,
)

from app.chat.chat_style import ChatStyle
from app.chat.highlight import Highlight
from app.chat.markdown import Block
from app.chat.piece import DocumentPiece, Piece, Span, set_line_height
from app.language import tr

LINES = 48  # per part, and
CHARACTERS = 6_000  # about as many; a longer line is several parts
RADIUS = 10.0
PADDING = 14.0
COPY = "copy:"


class CodeHead(Piece):
    """The top of a block of code."""

    def __init__(self, block: Block, highlight: Highlight, style: ChatStyle):
        super().__init__(("code head", block.language, block.indent), style)
        self._highlight = highlight
        self.height = style.small_height + 16
        self.is_laid_out = True
        self._language = block.language
        self._left = 24.0 * block.indent

    @property
    def code(self) -> str:
        """All of the code, as it is now."""
        return self._highlight.code

    def paint(self, painter: QPainter, clip: QRectF, selected: Span | None) -> None:
        """As Piece says."""
        area = QRectF(self._left, 0, self.width - self._left, self.height)
        paint_card(painter, area, self.style, top=True, bottom=False)
        painter.setFont(self.style.small_font)
        painter.setPen(self.style.colour("muted"))
        inner = area.adjusted(PADDING, 2, -PADDING, 0)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(inner, middle, self._language or tr("text"))
        icon = self.style.theme.icon("copy", "muted")
        label = tr("Copy")
        text_width = painter.fontMetrics().horizontalAdvance(label)
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight, label)
        place = QRectF(inner.right() - text_width - 19, inner.center().y() - 7, 14, 14)
        icon.paint(painter, place.toRect())

    def target_at(self, point: QPointF) -> str:
        """As Piece says."""
        return COPY if point.x() > self.width - 90 else ""

    def lay_out(self, width: float) -> None:
        """As Piece says."""
        self.width = width


class CodePart(DocumentPiece):
    """Some lines of a block of code, or a stretch of a very long one, from `column` on."""

    gap = 0.0

    def __init__(
        self,
        lines: list[str],
        place: tuple[int, int],
        highlight: Highlight,
        style: ChatStyle,
        *,
        indent: int,
        is_last: bool,
    ):
        super().__init__(("code", place, tuple(lines), indent, is_last), style)
        self.first, self.column = place
        self.joint = "" if self.column else "\n"
        self.highlight = highlight
        self.lines = lines
        self.indent = indent
        self.is_last = is_last
        self._shown_version = -1
        self.inset = (24.0 * indent + PADDING, 2.0, PADDING, PADDING if is_last else 0.0)
        self.n_characters = sum(map(len, lines)) + len(lines) - 1
        per_line = max(20.0, 700 / style.code_char_width)
        n_rows = sum(1 + int(len(line) / per_line) for line in lines)
        self.height = n_rows * style.code_line_height + self.inset[1] + self.inset[3]

    def grow_from(self, old: "CodePart") -> bool:
        """Take over an older part's document when these lines only add to its own."""
        text, before = "\n".join(self.lines), "\n".join(old.lines)
        same_place = (self.first, self.column, self.indent) == (old.first, old.column, old.indent)
        if old.document is None or not same_place or not text.startswith(before):
            return False
        self.document, old.document = old.document, None
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(text[len(before) :])
        return True

    def fill(self, document: QTextDocument) -> None:
        """As DocumentPiece says."""
        document.setDefaultFont(self.style.code_font)
        document.setPlainText("\n".join(self.lines))
        set_line_height(document, 120)
        self._shown_version = -1

    def lay_out(self, width: float) -> None:
        """As Piece says."""
        super().lay_out(width)
        self.show_colours()

    def show_colours(self) -> None:
        """Use what the highlight knows by now."""
        if self.document is None or self._shown_version == self.highlight.version:
            return
        self._shown_version = self.highlight.version
        block = self.document.begin()
        for runs in self.highlight.lines[self.first : self.first + len(self.lines)]:
            if not block.isValid():
                break
            block.layout().setFormats(list(self._formats(runs)))
            block = block.next()
        self.document.markContentsDirty(0, self.n_characters)

    def paint(self, painter: QPainter, clip: QRectF, selected: Span | None) -> None:
        """As Piece says."""
        left = 24.0 * self.indent
        area = QRectF(left, 0, self.width - left, self.height)
        paint_card(painter, area, self.style, top=False, bottom=self.is_last)
        super().paint(painter, clip, selected)

    def _formats(self, runs: list[tuple[int, int, str]]) -> Iterator[QTextLayout.FormatRange]:
        for start, length, kind in runs:
            colour = self.style.code_colour(kind)
            begin, end = max(0, start - self.column), start + length - self.column
            if colour is not None and begin < end:
                each = QTextLayout.FormatRange()
                each.start, each.length = begin, end - begin
                look = QTextCharFormat()
                look.setForeground(colour)
                each.format = look
                yield each


def code_pieces(block: Block, highlight: Highlight, style: ChatStyle) -> list[Piece]:
    """A block of code, from head to end."""
    highlight.set_code(block.code)
    cuts = list(_cut(block.code.split("\n")))
    parts = [
        CodePart(lines, place, highlight, style, indent=block.indent, is_last=number == len(cuts))
        for number, (place, lines) in enumerate(cuts, 1)
    ]
    return [CodeHead(block, highlight, style), *parts]


def _cut(lines: Sequence[str]) -> Iterator[tuple[tuple[int, int], list[str]]]:
    """((first line, its first column), lines) of each part; what grows is cut as it was before."""
    taken: list[str] = []
    n_characters = 0
    for number, line in enumerate(lines):
        is_full = len(taken) == LINES or n_characters + len(line) > CHARACTERS
        if taken and is_full:
            yield (number - len(taken), 0), taken
            taken, n_characters = [], 0
        if len(line) > CHARACTERS:
            for column in range(0, len(line), CHARACTERS):
                yield (number, column), [line[column : column + CHARACTERS]]
            continue
        taken.append(line)
        n_characters += len(line) + 1
    if taken:
        yield (len(lines) - len(taken), 0), taken


def paint_card(
    painter: QPainter, area: QRectF, style: ChatStyle, *, top: bool, bottom: bool
) -> None:
    """The ground of code, round where it begins and ends."""
    path = QPainterPath()
    rounded = area.adjusted(0.5, 0.5 if top else -2 * RADIUS, -0.5, -0.5 if bottom else 2 * RADIUS)
    path.addRoundedRect(rounded, RADIUS, RADIUS)
    painter.save()
    painter.setClipRect(area, Qt.ClipOperation.IntersectClip)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(style.colour("border")))
    painter.setBrush(style.colour("code_background"))
    painter.drawPath(path)
    painter.restore()
