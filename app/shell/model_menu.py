"""ModelMenu: the list that opens below the model chooser."""

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.engine_service import EngineService
from app.language import tr
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from app.models.words import badge, family_line
from app.shell.model_opener import ModelOpener
from app.short import short
from app.theme.theme import SPACE_M, SPACE_S, SPACE_XS, Theme
from app.widgets.card import line
from app.widgets.labels import label, set_kind
from app.widgets.plain import plain
from app.widgets.search_field import SearchField
from engine.demo_model import is_demo_model

MANY = 7  # models from which on a search field helps
_ROW = 50
_MOST_ROWS = 8
_DETAIL, _BADGE = Qt.ItemDataRole.UserRole + 1, Qt.ItemDataRole.UserRole + 2

_Index = QModelIndex | QPersistentModelIndex


class _Rows(QStyledItemDelegate):
    """Title over family line, with a badge at the right."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:  # noqa: N802
        """All rows are equally high."""
        return QSize(200, round(_ROW * self._theme.font_size / 10.5))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw one row."""
        palette = self._theme.palette
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        chosen = option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver)
        box = option.rect.adjusted(0, 1, 0, -1)
        if chosen:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.hover))
            painter.drawRoundedRect(box, 7, 7)
        inside = box.adjusted(SPACE_M, SPACE_XS, -SPACE_M, -SPACE_XS)
        title, small = QFont(option.font), QFont(option.font)
        title.setWeight(QFont.Weight.DemiBold)
        small.setPointSizeF(self._theme.font_size * 0.9)
        said = index.data(_BADGE)
        if said:
            text, role = said
            width = QFontMetrics(small).horizontalAdvance(text)
            right = QRect(inside.right() - width, inside.top(), width + 2, inside.height())
            painter.setFont(small)
            painter.setPen(QPen(QColor(self._theme.colour(role))))
            painter.drawText(right, Qt.AlignmentFlag.AlignVCenter, text)
            inside.setRight(right.left() - SPACE_S)
        half = inside.height() // 2
        enabled = bool(option.state & QStyle.StateFlag.State_Enabled)
        for font, colour, text, top in (
            (title, palette.text if enabled else palette.muted, index.data(), inside.top()),
            (small, palette.muted, index.data(_DETAIL), inside.top() + half),
        ):
            painter.setFont(font)
            painter.setPen(QPen(QColor(colour)))
            cut = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, inside.width())
            place = QRect(inside.left(), top, inside.width(), half)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, cut)
        painter.restore()


class ModelMenu(QFrame):
    """Choose with the mouse, or with arrows and Enter; typing searches.

    Signals:
        manage_wanted, file_wanted: As ModelChooser's.
    """

    manage_wanted = Signal()
    file_wanted = Signal()

    def __init__(
        self,
        service: EngineService,
        library: ModelLibrary,
        opener: ModelOpener,
        theme: Theme,
        parent: QWidget,
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("modelMenu")
        self._service, self._library, self._opener = service, library, opener
        self.search = SearchField(theme, tr("Search models"))
        self.list = QListWidget()
        self.list.setItemDelegate(_Rows(theme, self.list))
        self.list.setMouseTracking(True)
        self.list.setUniformItemSizes(True)
        self.list.setAccessibleName(tr("Models"))
        self.nothing = label(tr("No model is known yet."), "muted")
        self._models = sorted(library.all(), key=self._order)
        self._lay_out()
        self._fill("")
        self.search.searched.connect(self._fill)
        self.search.installEventFilter(self)
        self.list.itemClicked.connect(self._on_chosen)
        self.list.itemActivated.connect(self._on_chosen)

    def open_at(self, place: QPoint) -> None:
        """Show it with its upper left corner there."""
        rows = min(max(1, len(self._models)), _MOST_ROWS)
        hint = self.list.sizeHintForRow(0) if self._models else 0
        self.list.setFixedHeight(rows * hint + 2 * SPACE_XS)
        self.adjustSize()
        self.move(place)
        self.show()
        (self.search if not self.search.isHidden() else self.list).setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802, Qt's name
        """Arrows and Enter in the search field go to the list."""
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
                self.list.event(event)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                item = self.list.currentItem()
                if item and item.flags() & Qt.ItemFlag.ItemIsEnabled:
                    self._on_chosen(item)
                return True
        return False

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_S, SPACE_S, SPACE_S, SPACE_S)
        column.setSpacing(SPACE_XS)
        column.addWidget(self.search)
        column.addWidget(self.list)
        column.addWidget(self.nothing)
        column.addWidget(line())
        self.search.setVisible(len(self._models) >= MANY)
        self.list.setVisible(bool(self._models))
        self.nothing.setVisible(not self._models)
        self.nothing.setContentsMargins(SPACE_M, SPACE_S, SPACE_M, SPACE_S)
        row = QHBoxLayout()
        row.setSpacing(SPACE_XS)
        for text, act in (
            (tr("Open a GGUF…"), self.file_wanted.emit),
            (tr("Demo model"), self._opener.open_demo),
            (tr("All models"), self.manage_wanted.emit),
        ):
            button = QPushButton(text)
            set_kind(button, "quiet")
            button.clicked.connect(self.close)
            button.clicked.connect(lambda _=False, act=act: act())
            button.setVisible(act != self._opener.open_demo or not self._has_demo())
            row.addWidget(button)
        row.addStretch()
        column.addLayout(row)

    def _has_demo(self) -> bool:
        return any(is_demo_model(model.path) for model in self._models)

    def _order(self, model: KnownModel) -> tuple[bool, str]:
        return model != self._opener.last_model, model.title.lower()

    def _fill(self, wanted: str) -> None:
        self.list.clear()
        for model in self._models:
            if wanted.lower() not in f"{model.title} {family_line(model)}".lower():
                continue
            item = QListWidgetItem(model.title)
            item.setData(Qt.ItemDataRole.UserRole, model.id)
            item.setData(_DETAIL, family_line(model))
            item.setToolTip(plain(model.title) if short(model.title) != model.title else "")
            said = badge(model, self._library.state(model.id), self._service.state, None)
            item.setData(_BADGE, (said.text, said.role) if said else None)
            if not model.info.supported or self._library.state(model.id).missing:
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        rows = range(self.list.count())
        enabled = Qt.ItemFlag.ItemIsEnabled
        can_be_chosen = (row for row in rows if self.list.item(row).flags() & enabled)
        self.list.setCurrentRow(next(can_be_chosen, 0))

    def _on_chosen(self, item: QListWidgetItem) -> None:
        self.close()
        self._opener.open(self._library.get(item.data(Qt.ItemDataRole.UserRole)))
