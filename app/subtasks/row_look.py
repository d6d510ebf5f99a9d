"""RowLook: what a row of two lines shows; how the lists of this page are painted."""

import msgspec
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.theme.theme import SPACE_M, SPACE_S, SPACE_XS, Theme

LOOK = Qt.ItemDataRole.UserRole + 1
_ICON = 18
_BAR = 3
_RADIUS = 7


class RowLook(msgspec.Struct, frozen=True, kw_only=True):
    """Two lines, with a picture in front.

    Attributes:
        icon, icon_role: The picture and its colour; "" for none.
        title, figures: The upper line, and what stands at its right end.
        line, line_role: The lower one.
        from_end: The lower line is cut at its beginning, for text that grows.
        share: A bar below, 0 to 1; None for no bar.
    """

    icon: str = ""
    icon_role: str = "muted"
    title: str
    figures: str = ""
    line: str = ""
    line_role: str = "muted"
    from_end: bool = False
    share: float | None = None


class RowDelegate(QStyledItemDelegate):
    """Paints the LOOK of each index."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(  # noqa: N802, Qt's name
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Two lines."""
        line = QFontMetrics(self._fonts(option.font)[0]).height()
        small = QFontMetrics(self._fonts(option.font)[1]).height()
        return QSize(160, line + small + 2 * SPACE_S + SPACE_XS)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw one row."""
        look = index.data(LOOK)
        if not isinstance(look, RowLook):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_back(painter, option)
        area = option.rect.adjusted(SPACE_S + 2, SPACE_S, -SPACE_S - 2, -SPACE_S)
        if look.icon:
            icon = self._theme.icon(look.icon, look.icon_role)
            icon.paint(painter, QRect(area.left(), area.top() + 1, _ICON, _ICON))
            area.setLeft(area.left() + _ICON + SPACE_S)
        self._paint_lines(painter, area, look, option.font)
        if look.share is not None:
            self._paint_bar(painter, option.rect, area.left(), look.share)
        painter.restore()

    def _fonts(self, font: QFont) -> tuple[QFont, QFont]:
        title, small = QFont(font), QFont(font)
        title.setWeight(QFont.Weight.Medium)
        small.setPointSizeF(max(7.0, font.pointSizeF() * 0.9))
        return title, small

    def _paint_back(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        state, palette = option.state, self._theme.palette
        colour = ""
        if state & QStyle.StateFlag.State_Selected:
            colour = palette.selection
        elif state & QStyle.StateFlag.State_MouseOver:
            colour = palette.hover
        rect = QRectF(option.rect).adjusted(2, 1, -2, -1)
        if colour:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colour))
            painter.drawRoundedRect(rect, _RADIUS, _RADIUS)
        if (
            state & QStyle.StateFlag.State_HasFocus
            and state & QStyle.StateFlag.State_KeyboardFocusChange
        ):
            painter.setPen(QColor(palette.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)

    def _paint_lines(self, painter: QPainter, area: QRect, look: RowLook, font: QFont) -> None:
        palette = self._theme.palette
        title_font, small_font = self._fonts(font)
        title, small = QFontMetrics(title_font), QFontMetrics(small_font)
        width = area.width()
        if look.figures:
            used = small.horizontalAdvance(look.figures)
            painter.setFont(small_font)
            painter.setPen(QColor(palette.muted))
            place = QRect(area.right() - used, area.top(), used + 1, title.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, look.figures)
            width -= used + SPACE_M
        painter.setFont(title_font)
        painter.setPen(QColor(palette.text))
        shown = title.elidedText(look.title, Qt.TextElideMode.ElideRight, width)
        painter.drawText(QRect(area.left(), area.top(), width, title.height()), 0, shown)
        painter.setFont(small_font)
        painter.setPen(QColor(self._theme.colour(look.line_role)))
        mode = Qt.TextElideMode.ElideLeft if look.from_end else Qt.TextElideMode.ElideRight
        shown = small.elidedText(look.line, mode, area.width())
        top = area.top() + title.height() + SPACE_XS
        painter.drawText(QRect(area.left(), top, area.width(), small.height()), 0, shown)

    def _paint_bar(self, painter: QPainter, row: QRect, left: int, share: float) -> None:
        bar = QRectF(left, row.bottom() - _BAR - 2, row.right() - left - SPACE_M, _BAR)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.palette.border))
        painter.drawRoundedRect(bar, _BAR / 2, _BAR / 2)
        bar.setWidth(bar.width() * min(1.0, max(0.0, share)))
        painter.setBrush(QColor(self._theme.palette.accent))
        painter.drawRoundedRect(bar, _BAR / 2, _BAR / 2)
