"""Piece: one block of a message on the screen, and the kinds that hold text."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QPainter,
    QPalette,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)

from app.chat.chat_style import PIECE_GAP, ChatStyle
from app.chat.markdown import Block

Span = tuple[int, int]  # selected characters, from and up to


class Piece:
    """Something of a fixed width and an estimated, later exact, height.

    A piece costs little until it is laid out, which happens near the viewport only; `forget` gives
    that up again and keeps the height. Coordinates are the piece's own, (0, 0) at its top left.

    Attributes:
        key: Equal for pieces that look the same, so that they need not be made again.
        gap: Space above, unless it is a message's first piece.
        height: Estimated until `is_laid_out`.
        n_characters: What can be selected of it.
        joint: What is between it and the piece above when both are copied.
    """

    gap: float = PIECE_GAP
    joint = "\n\n"

    def __init__(self, key: object, style: ChatStyle):
        self.key = key
        self.style = style
        self.height = style.line_height
        self.width = 0.0
        self.is_laid_out = False
        self.n_characters = 0

    def lay_out(self, width: float) -> None:
        """Make the height exact for `width`."""
        self.width = width
        self.is_laid_out = True

    def forget(self) -> None:
        """Keep only what `lay_out` needs to do it again."""

    def paint(self, painter: QPainter, clip: QRectF, selected: Span | None) -> None:
        """Draw what crosses `clip`."""

    def position_at(self, point: QPointF) -> int:
        """The character nearest to a point."""
        return 0

    def target_at(self, point: QPointF) -> str:
        """What a click there does: a link, "copy:", "fold:", or "" for nothing."""
        return ""

    def text(self, span: Span) -> str:
        """The characters of a span, as plain text."""
        return ""

    def word_at(self, position: int) -> Span:
        """The word around a character."""
        return (position, position)

    def places_of(self, words: str) -> list[Span]:
        """Where the words stand, in whatever case."""
        return []

    def y_of(self, position: int) -> float:
        """The top of a character's line. REQUIRES: the piece is laid out."""
        return 0.0


class DocumentPiece(Piece):
    """A piece whose content is a QTextDocument, made when it is laid out."""

    inset = (0.0, 0.0, 0.0, 0.0)  # left, top, right, bottom

    def __init__(self, key: object, style: ChatStyle):
        super().__init__(key, style)
        self.document: QTextDocument | None = None
        self.text_colour = style.colour("text")

    def fill(self, document: QTextDocument) -> None:
        """Put the content in."""
        raise NotImplementedError

    def lay_out(self, width: float) -> None:
        """As Piece says."""
        if self.document is None:
            self.document = new_document(self.style)
            self.fill(self.document)
            self.n_characters = max(0, self.document.characterCount() - 1)
        left, top, right, bottom = self.inset
        self.document.setTextWidth(max(16.0, width - left - right))
        self.height = self.document.size().height() + top + bottom
        super().lay_out(width)

    def forget(self) -> None:
        """As Piece says."""
        self.document = None
        self.is_laid_out = False

    def paint(self, painter: QPainter, clip: QRectF, selected: Span | None) -> None:
        """As Piece says."""
        if self.document is None:
            paint_placeholder(painter, self, clip)
            return
        left, top, _, _ = self.inset
        context = QAbstractTextDocumentLayout.PaintContext()
        context.palette.setColor(QPalette.ColorRole.Text, self.text_colour)
        context.clip = clip.translated(-left, -top)
        if selected and selected[0] < selected[1]:
            selection = QAbstractTextDocumentLayout.Selection()
            selection.cursor = self._cursor(selected)
            selection.format = QTextCharFormat()
            selection.format.setBackground(self.style.colour("selection"))
            context.selections = [selection]
        painter.translate(left, top)
        self.document.documentLayout().draw(painter, context)
        painter.translate(-left, -top)

    def position_at(self, point: QPointF) -> int:
        """As Piece says."""
        if self.document is None:
            return 0
        inner = point - QPointF(self.inset[0], self.inset[1])
        if inner.y() < 0:
            return 0
        if inner.y() >= self.document.size().height():
            return self.n_characters
        layout = self.document.documentLayout()
        return max(0, layout.hitTest(inner, Qt.HitTestAccuracy.FuzzyHit))

    def target_at(self, point: QPointF) -> str:
        """As Piece says."""
        if self.document is None:
            return ""
        return self.document.documentLayout().anchorAt(
            point - QPointF(self.inset[0], self.inset[1])
        )

    def text(self, span: Span) -> str:
        """As Piece says."""
        self._restore()
        return self._cursor(span).selection().toPlainText().replace("\u00a0", " ")

    def word_at(self, position: int) -> Span:
        """As Piece says."""
        if self.document is None:
            return (position, position)
        cursor = QTextCursor(self.document)
        cursor.setPosition(min(position, self.n_characters))
        cursor.select(QTextCursor.SelectionType.WordUnderCursor)
        return (cursor.selectionStart(), cursor.selectionEnd())

    def places_of(self, words: str) -> list[Span]:
        """As Piece says."""
        document = self._restore()
        found = []
        cursor = document.find(words, 0)
        while not cursor.isNull():
            found.append((cursor.selectionStart(), cursor.selectionEnd()))
            cursor = document.find(words, cursor)
        return found

    def y_of(self, position: int) -> float:
        """As Piece says."""
        block = self._restore().findBlock(position)
        line = block.layout().lineForTextPosition(position - block.position())
        top = block.document().documentLayout().blockBoundingRect(block).top()
        return self.inset[1] + top + (line.y() if line.isValid() else 0.0)

    def _restore(self) -> QTextDocument:
        """The document, made again where the layout was given up meanwhile."""
        if self.document is None:
            self.lay_out(self.width or 400.0)
        assert self.document is not None
        return self.document

    def _cursor(self, span: Span) -> QTextCursor:
        assert self.document is not None
        cursor = QTextCursor(self.document)
        cursor.setPosition(min(span[0], self.n_characters))
        cursor.setPosition(min(span[1], self.n_characters), QTextCursor.MoveMode.KeepAnchor)
        return cursor


class TextPiece(DocumentPiece):
    """Paragraphs, a list, a table, a heading of a reply."""

    def __init__(self, block: Block, style: ChatStyle, *, is_muted: bool = False):
        super().__init__(("text", block.source, block.indent, is_muted), style)
        self._block = block
        self.inset = (24.0 * block.indent, 0.0, 0.0, 0.0)
        if is_muted:
            self.text_colour = style.colour("muted")
        if block.source.startswith("#"):
            self.gap = PIECE_GAP + 6
        self.n_characters = len(block.source)
        n_lines = block.source.count("\n") + len(block.source) * style.char_width / 640
        self.height = max(1.0, round(n_lines)) * style.line_height

    def fill(self, document: QTextDocument) -> None:
        """As DocumentPiece says."""
        document.setHtml(self._block.html())


class QuotePiece(TextPiece):
    """Quoted text, with a line beside it."""

    def __init__(self, block: Block, style: ChatStyle, *, is_muted: bool = False):
        super().__init__(block, style, is_muted=True)
        self.key = ("quote", block.source, block.indent)
        self.inset = (24.0 * block.indent + 16, 2.0, 0.0, 2.0)

    def paint(self, painter: QPainter, clip: QRectF, selected: Span | None) -> None:
        """As Piece says."""
        bar = QRectF(self.inset[0] - 16, 0, 3, self.height)
        painter.fillRect(bar, self.style.colour("border"))
        super().paint(painter, clip, selected)


class PlainPiece(DocumentPiece):
    """Text as it is, as what the user wrote; `goes_on`: within the line of the piece above."""

    gap = 0

    def __init__(
        self, text: str, style: ChatStyle, *, is_muted: bool = False, goes_on: bool = False
    ):
        super().__init__(("plain", text, is_muted, goes_on), style)
        self.joint = "" if goes_on else "\n"
        self._text = text
        if is_muted:
            self.text_colour = style.colour("muted")
        self.n_characters = len(text)
        n_lines = text.count("\n") + 1 + len(text) * style.char_width / 640
        self.height = int(n_lines) * style.line_height

    def fill(self, document: QTextDocument) -> None:
        """As DocumentPiece says."""
        document.setPlainText(self._text)
        set_line_height(document, 130)

    def ideal_width(self, most: float) -> float:
        """The width that its longest line needs, up to `most`."""
        self.lay_out(most)
        assert self.document is not None
        return min(most, self.document.idealWidth() + 1)


class RulePiece(Piece):
    """A line across."""

    def __init__(self, style: ChatStyle):
        super().__init__(("rule",), style)
        self.height = 9
        self.is_laid_out = True

    def paint(self, painter: QPainter, clip: QRectF, selected: Span | None) -> None:
        """As Piece says."""
        painter.fillRect(QRectF(0, 4, self.width, 1), self.style.colour("border"))


def new_document(style: ChatStyle) -> QTextDocument:
    """An empty document in this style. It loads nothing from anywhere."""
    document = QTextDocument()
    document.setUndoRedoEnabled(False)
    document.setDocumentMargin(0)
    document.setDefaultFont(style.text_font)
    document.setDefaultStyleSheet(style.css)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    document.setDefaultTextOption(option)
    document.setIndentWidth(24)
    return document


def set_line_height(document: QTextDocument, percent: int) -> None:
    """Set all lines apart."""
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    spaced = QTextBlockFormat()
    spaced.setLineHeight(percent, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    cursor.mergeBlockFormat(spaced)


def paint_placeholder(painter: QPainter, piece: Piece, clip: QRectF) -> None:
    """Grey lines, for the moment until a piece is laid out."""
    step = piece.style.line_height
    colour = QColor(piece.style.colour("hover"))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    y = max(0.0, (clip.top() // step) * step)
    while y + step <= min(piece.height + 1, clip.bottom() + step):
        share = 0.6 if y + 2 * step > piece.height else 0.96
        width = max(40.0, piece.width or clip.width()) * share
        painter.drawRoundedRect(QRectF(0, y + step * 0.3, width, step * 0.4), 4, 4)
        y += step
