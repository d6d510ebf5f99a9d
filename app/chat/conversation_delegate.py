"""ConversationDelegate: a line of the list of chats: title, what a search found, who streams."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.chat.conversation_model import HEADER_ROLE, SNIPPET_ROLE, STREAMING_ROLE
from app.theme.theme import Theme

_Index = QModelIndex | QPersistentModelIndex
MORE = 28  # width of the button at the right of a line


class ConversationDelegate(QStyledItemDelegate):
    """Paints with the theme's colours, as tall as a line needs.

    Signals:
        editing_changed: A title begins or ceases to be edited. arg: bool.
    """

    editing_changed = Signal(bool)

    def __init__(self, theme: Theme):
        super().__init__()
        self._theme = theme
        self.closeEditor.connect(lambda *_: self.editing_changed.emit(False))

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:  # noqa: N802, Qt's name
        """One line, or two with what was found."""
        line = option.fontMetrics.lineSpacing()
        if index.data(HEADER_ROLE):
            return QSize(80, line + 18)
        return QSize(80, line + 14 + (line if index.data(SNIPPET_ROLE) else 0))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw a heading or a conversation."""
        p = self._theme.palette
        area: QRect = option.rect
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        title = str(index.data(Qt.ItemDataRole.DisplayRole))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = option.font
        if index.data(HEADER_ROLE):
            font.setPointSizeF(font.pointSizeF() * 0.85)
            font.setBold(True)
            painter.setFont(font)
            painter.setPen(QColor(p.muted))
            painter.drawText(area.adjusted(12, 8, -8, 0), left, title)
            painter.restore()
            return
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if chosen or hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(p.selection if chosen else p.hover))
            painter.drawRoundedRect(area.adjusted(4, 1, -4, -1), 8, 8)
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(p.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area.adjusted(4, 1, -5, -2), 8, 8)
        line = option.fontMetrics.lineSpacing()
        text = area.adjusted(12, 7, -10, 0)
        text.setHeight(line)
        if hovered:
            text.setRight(area.right() - MORE)
            self._theme.icon("more", "muted").paint(painter, self.more_area(area))
        elif index.data(STREAMING_ROLE):
            text.setRight(area.right() - 24)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(p.accent))
            painter.drawEllipse(area.right() - 19, area.top() + 7 + line // 2 - 3, 7, 7)
        painter.setFont(font)
        painter.setPen(QColor(p.text))
        painter.drawText(text, left, _elided(painter, title, text.width()))
        if snippet := index.data(SNIPPET_ROLE):
            font.setPointSizeF(font.pointSizeF() * 0.88)
            painter.setFont(font)
            painter.setPen(QColor(p.muted))
            below = QRect(text.left(), text.bottom() + 1, area.width() - 22, line)
            painter.drawText(below, left, _elided(painter, str(snippet), below.width()))
        painter.restore()

    def more_area(self, area: QRect) -> QRect:
        """Where the button that opens the menu is."""
        return QRect(area.right() - MORE + 2, area.top() + (area.height() - 18) // 2, 18, 18)

    def createEditor(  # noqa: N802, Qt's name
        self, parent: QWidget, option: QStyleOptionViewItem, index: _Index
    ) -> QWidget:
        """A line to rename in."""
        editor = QLineEdit(parent)
        editor.setMaxLength(200)
        editor.setTextMargins(0, 0, 0, 0)
        editor.setStyleSheet("padding: 2px 6px; min-height: 0;")
        self.editing_changed.emit(True)
        return editor

    def updateEditorGeometry(  # noqa: N802, Qt's name
        self, editor: QWidget, option: QStyleOptionViewItem, index: _Index
    ) -> None:
        """Over the line."""
        editor.setGeometry(option.rect.adjusted(4, 1, -4, -1))


def _elided(painter: QPainter, text: str, width: int) -> str:
    return painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, width)
