"""ModelRow: paints one model of the list."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.models import words
from app.models.known_model import KnownModel
from app.models.model_list import BADGE_ROLE, MODEL_ROLE, PACK_ROLE
from app.models.pack_state import PackState
from app.models.words import Badge
from app.theme.theme import RADIUS, SPACE_M, SPACE_S, SPACE_XS, Theme
from engine import sizes

Index = QModelIndex | QPersistentModelIndex


class ModelRow(QStyledItemDelegate):
    """Title and badge; what it is; its shape and its pack."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        """Three lines."""
        title, small = QFontMetrics(self._title_font()), QFontMetrics(self._small_font())
        return QSize(200, title.height() + 2 * small.height() + 2 * SPACE_S + 2 * SPACE_XS)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the row."""
        palette = self._theme.palette
        model: KnownModel = index.data(MODEL_ROLE)
        badge: Badge | None = index.data(BADGE_ROLE)
        pack: PackState = index.data(PACK_ROLE)
        state = option.state
        rect: QRect = option.rect.adjusted(SPACE_XS, 2, -SPACE_XS, -2)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if state & QStyle.StateFlag.State_Selected:
            painter.setBrush(QColor(palette.selection))
            painter.drawRoundedRect(rect, RADIUS, RADIUS)
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.setBrush(QColor(palette.hover))
            painter.drawRoundedRect(rect, RADIUS, RADIUS)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(QColor(palette.accent), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(rect.adjusted(0, 0, -1, -1), RADIUS, RADIUS)
        inner = rect.adjusted(SPACE_M, SPACE_S - 2, -SPACE_M, -SPACE_S + 2)
        self._paint_lines(painter, inner, model, badge, pack)
        painter.restore()

    def _paint_lines(
        self,
        painter: QPainter,
        inner: QRect,
        model: KnownModel,
        badge: Badge | None,
        pack: PackState,
    ) -> None:
        palette = self._theme.palette
        title, small = self._title_font(), self._small_font()
        title_height = QFontMetrics(title).height()
        small_height = QFontMetrics(small).height()
        line = QRect(inner.topLeft(), QSize(inner.width(), title_height))
        line.setRight(line.right() - self._paint_badge(painter, line, badge))
        self._write(painter, line, model.title, title, palette.text)
        line = QRect(
            inner.topLeft() + QPoint(0, title_height + SPACE_XS),
            QSize(inner.width(), small_height),
        )
        self._write(painter, line, words.family_line(model), small, palette.muted)
        line.translate(0, small_height + 1)
        if pack.kind == "ready":
            size = f"pack {sizes.show(pack.n_bytes)}"
            self._write(painter, line, size, small, palette.muted, Qt.AlignmentFlag.AlignRight)
            line.setRight(line.right() - QFontMetrics(small).horizontalAdvance(size) - SPACE_S)
        self._write(painter, line, words.shape_line(model), small, palette.muted)

    def _paint_badge(self, painter: QPainter, line: QRect, badge: Badge | None) -> int:
        """The width that it took, with the space beside it."""
        if badge is None:
            return 0
        font = self._small_font()
        font.setWeight(QFont.Weight.DemiBold)
        metrics = QFontMetrics(font)
        width = metrics.horizontalAdvance(badge.text) + 2 * SPACE_S
        height = metrics.height() + 2
        box = QRect(line.right() - width + 1, line.center().y() - height // 2, width, height)
        colour = QColor(self._theme.colour(badge.role))
        soft = QColor(colour)
        soft.setAlphaF(0.14)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(soft)
        painter.drawRoundedRect(box, 6, 6)
        painter.setPen(colour)
        painter.setFont(font)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, badge.text)
        return width + SPACE_S

    def _write(
        self,
        painter: QPainter,
        line: QRect,
        text: str,
        font: QFont,
        colour: str,
        align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    ) -> None:
        painter.setFont(font)
        painter.setPen(QColor(colour))
        shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, line.width())
        painter.drawText(line, align | Qt.AlignmentFlag.AlignVCenter, shown)

    def _title_font(self) -> QFont:
        font = self._theme.text_font()
        font.setWeight(QFont.Weight.DemiBold)
        return font

    def _small_font(self) -> QFont:
        font = self._theme.text_font()
        font.setPointSizeF(self._theme.font_size * 0.9)
        return font
