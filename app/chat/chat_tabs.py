"""ChatTabs: the open chats, as tabs or up to four side by side."""

import math

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPainter, QPalette, QPixmap, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QGridLayout,
    QHBoxLayout,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.chat.chat_view import ChatView
from app.language import tr
from app.theme.theme import SPACE_S, SPACE_XS, Theme
from app.widgets.card import line
from app.widgets.icon_button import IconButton
from app.widgets.plain import plain

MOST_TILES = 4
_TILES_A_SIDE = 2
TITLE = 26  # characters of a title on a tab


class ChatTabs(QWidget):
    """Shows one view, or as tiles the current one and those next to it.

    A tile that has the focus is the current one.

    A dot on a tab says that its reply streams; a ring, that it has ended unseen.

    Signals:
        current_changed: Another chat is current. arg: conversation id or "".
        close_asked: A tab shall be closed. arg: conversation id.
        new_asked: A new chat shall be begun.
    """

    current_changed = Signal(str)
    close_asked = Signal(str)
    new_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None):
        super().__init__(parent)
        self._theme = theme
        self._views: dict[str, ChatView] = {}
        self._streaming: set[str] = set()
        self._unseen: set[str] = set()
        self._first_tile = 0
        self._is_focused = False  # the view that becomes current, perhaps not at its composer
        self._is_arranging = False  # then the focus goes anywhere, which means nothing
        self.bar = QTabBar()
        self.bar.setDocumentMode(True)
        self.bar.setExpanding(False)
        self.bar.setMovable(True)
        self.bar.setTabsClosable(True)
        self.bar.setElideMode(Qt.TextElideMode.ElideRight)
        self.bar.setUsesScrollButtons(True)
        self.bar.setIconSize(QSize(10, 10))
        # Qt measures titles as they are when not chosen: bold ones would be cut at both ends.
        self.bar.setStyleSheet(
            "QTabBar::tab { min-width: 84px; max-width: 200px; }"
            "QTabBar::tab:selected { font-weight: 400; }"
        )
        self.bar.setAccessibleName(tr("Open chats"))
        self.new_button = IconButton(theme, "add", tr("New chat (Ctrl+T)"), size=16)
        self.tile_button = IconButton(theme, "tiles", tr("Up to four chats side by side"), size=16)
        self.tile_button.setCheckable(True)
        self._area = QWidget()
        self._area.setAutoFillBackground(True)
        self._grid = QGridLayout(self._area)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(1)
        row = QHBoxLayout()
        row.setContentsMargins(SPACE_XS, SPACE_XS, SPACE_S, 0)
        row.setSpacing(SPACE_XS)
        row.addWidget(self.bar, 1)
        row.addWidget(self.new_button)
        row.addWidget(self.tile_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row)
        column.addWidget(line())
        column.addWidget(self._area, 1)
        self.bar.currentChanged.connect(self._on_current_changed)
        self.bar.tabCloseRequested.connect(lambda index: self.close_asked.emit(self.id_at(index)))
        self.bar.tabMoved.connect(lambda *_: self._arrange())
        self.new_button.clicked.connect(self.new_asked)
        self.tile_button.toggled.connect(lambda _: self._arrange())
        theme.changed.connect(self._on_theme_changed)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._on_focus_changed)
        self._on_theme_changed()

    @property
    def ids(self) -> list[str]:
        """Open conversations, from left to right."""
        return [self.id_at(index) for index in range(self.bar.count())]

    @property
    def current(self) -> ChatView | None:
        """The view that keys and buttons are about."""
        return self._views.get(self.id_at(self.bar.currentIndex()))

    def id_at(self, index: int) -> str:
        """The conversation of a tab; "" when there is none."""
        return str(self.bar.tabData(index) or "")

    def view(self, conversation_id: str) -> ChatView | None:
        """The view of an open conversation."""
        return self._views.get(conversation_id)

    def add(self, conversation_id: str, title: str, view: ChatView) -> None:
        """One more tab, at the end."""
        self._views[conversation_id] = view
        blocked = self.bar.blockSignals(True)
        index = self.bar.addTab("")
        self.bar.setTabData(index, conversation_id)
        self.bar.blockSignals(blocked)
        self.set_title(conversation_id, title)
        view.hide()
        view.setParent(self._area)

    def select(self, conversation_id: str) -> None:
        """Make a tab current."""
        index = self.ids.index(conversation_id)
        if self.bar.currentIndex() == index:
            self._on_current_changed(index)
        else:
            self.bar.setCurrentIndex(index)

    def remove(self, conversation_id: str) -> None:
        """Take a tab away."""
        view = self._views.pop(conversation_id)
        self._streaming.discard(conversation_id)
        self._unseen.discard(conversation_id)
        self._is_arranging = True
        self._grid.removeWidget(view)
        view.hide()
        self._is_arranging = False
        view.end()
        view.deleteLater()
        self.bar.removeTab(self.ids.index(conversation_id))
        if self.bar.count():
            self._place_views()  # the next one has room, also where the current one stays
        else:
            self._on_current_changed(-1)

    def step(self, by: int) -> None:
        """Make the next tab current, or the one before."""
        if self.bar.count():
            self.bar.setCurrentIndex((self.bar.currentIndex() + by) % self.bar.count())

    def set_title(self, conversation_id: str, title: str) -> None:
        """What a tab says."""
        if conversation_id in self._views:
            index = self.ids.index(conversation_id)
            short = title if len(title) <= TITLE else title[: TITLE - 1].rstrip() + "…"
            self.bar.setTabText(index, short.replace("&", "&&"))
            self.bar.setTabToolTip(index, plain(title))
            self._views[conversation_id].title.setText(title)

    def set_streaming(self, conversation_id: str, on: bool) -> None:
        """Show that a chat streams, or that it has ended."""
        if conversation_id not in self._views:
            return
        if on:
            self._streaming.add(conversation_id)
        elif conversation_id in self._streaming:
            self._streaming.discard(conversation_id)
            if not self._views[conversation_id].isVisible():
                self._unseen.add(conversation_id)
        self._mark(conversation_id)

    def _mark(self, conversation_id: str) -> None:
        index = self.ids.index(conversation_id)
        icon = QIcon()
        if conversation_id in self._streaming:
            icon = _dot(self._theme.palette.accent, filled=True)
        elif conversation_id in self._unseen:
            icon = _dot(self._theme.palette.success, filled=False)
        self.bar.setTabIcon(index, icon)

    def _on_current_changed(self, index: int) -> None:
        self._arrange()
        self.current_changed.emit(self.id_at(index))

    def _on_focus_changed(self, _: QWidget | None, now: QWidget | None) -> None:
        if now is None or self._is_arranging:
            return
        for conversation_id, view in self._views.items():
            if view is not self.current and view.isAncestorOf(now):
                self._is_focused = True
                self.bar.setCurrentIndex(self.ids.index(conversation_id))
                self._is_focused = False
                return

    def _arrange(self) -> None:
        self._place_views()
        if not self._is_focused:
            self._focus()

    def _place_views(self) -> None:
        ids = self.ids
        current = self.bar.currentIndex()
        shown = ids[current : current + 1] if current >= 0 else []
        if self.tile_button.isChecked() and shown:
            if not 0 <= current - self._first_tile < MOST_TILES:  # else tiles stay where they are
                self._first_tile = current
            self._first_tile = max(0, min(self._first_tile, len(ids) - MOST_TILES))
            shown = ids[self._first_tile : self._first_tile + MOST_TILES]
        self._is_arranging = True
        for conversation_id, view in self._views.items():
            if conversation_id not in shown:
                self._grid.removeWidget(view)
                view.hide()
        columns = math.ceil(math.sqrt(len(shown))) if shown else 1
        for place, conversation_id in enumerate(shown):
            view = self._views[conversation_id]
            self._grid.addWidget(view, place // columns, place % columns)
            view.title.setVisible(len(shown) > 1)
            view.setVisible(True)
        for n in range(_TILES_A_SIDE):  # all as wide and as high, whatever their titles
            self._grid.setColumnStretch(n, int(n < columns))
            self._grid.setRowStretch(n, int(n * columns < len(shown)))
        self._is_arranging = False
        self._see()

    def _focus(self) -> None:
        if view := self.current:
            view.composer.field.setFocus()

    def _see(self) -> None:
        """What is shown has been seen."""
        for conversation_id in list(self._unseen):
            if self._views[conversation_id].isVisibleTo(self):
                self._unseen.discard(conversation_id)
                self._mark(conversation_id)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """The chats are looked at again, after another page or the settings."""
        super().showEvent(event)
        self._see()
        self._focus()

    def _on_theme_changed(self) -> None:
        palette = self._area.palette()
        palette.setColor(QPalette.ColorRole.Window, QColor(self._theme.palette.border))
        self._area.setPalette(palette)
        for name, icon in (
            ("ScrollLeftButton", "chevron-left"),
            ("ScrollRightButton", "chevron-right"),
        ):
            button = self.bar.findChild(QToolButton, name)
            if button is not None:  # Qt's own, and no part of its promises
                button.setArrowType(Qt.ArrowType.NoArrow)
                button.setIcon(self._theme.icon(icon, "muted"))
        for conversation_id in self._views:
            self._mark(conversation_id)


def _dot(colour: str, *, filled: bool) -> QIcon:
    pixmap = QPixmap(20, 20)
    pixmap.setDevicePixelRatio(2)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(colour))
    painter.setBrush(QColor(colour) if filled else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(QRectF(1.5, 1.5, 7, 7))
    painter.end()
    return QIcon(pixmap)
