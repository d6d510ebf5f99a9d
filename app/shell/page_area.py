"""PageArea: the page that is shown, and the monitor beside it."""

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from app.shell.pages import Pages

_DOCK_WIDTH = 440
_LEAST_DOCK, _LEAST_PAGE = 348, 420
_MOST_SHARE = 0.38  # of the area, until a person drags it wider


class _Remembered(msgspec.Struct, frozen=True):
    """What a later start wants to know."""

    dock: bool = False
    dock_width: int = _DOCK_WIDTH


class PageArea(QSplitter):
    """A stack of pages at the left; the dock at the right, unless the monitor is the page."""

    def __init__(self, pages: Pages, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._pages = pages
        self.page = ""
        self.dock_on = False
        self._dock_width = _DOCK_WIDTH
        self._stack = QStackedWidget()
        self.dock = QFrame()
        self.dock.setObjectName("dock")
        self.dock.setMinimumWidth(_LEAST_DOCK)
        self._dock_column = QVBoxLayout(self.dock)
        self._dock_column.setContentsMargins(0, 0, 0, 0)
        self.addWidget(self._stack)
        self.addWidget(self.dock)
        self.setChildrenCollapsible(False)
        self.setStretchFactor(0, 1)
        self.setStretchFactor(1, 0)
        self.dock.hide()
        self.splitterMoved.connect(self._on_moved)

    def show_page(self, name: str) -> None:
        """Show a page, and the dock as it was asked for."""
        self.page = name
        if name == "monitor":
            self.dock.hide()
        self._show_widget(self._pages.get(name))
        self._place_dock()

    def show_dock(self, on: bool) -> None:
        """Show the monitor beside every page but its own."""
        self.dock_on = on
        if self.page:
            self._place_dock()

    def refresh(self) -> None:
        """Show the page again, which may be another widget now."""
        self._show_widget(self._pages.get(self.page))

    def remembered(self) -> str:
        """What `recall` takes."""
        return msgspec.json.encode(_Remembered(self.dock_on, self._dock_width)).decode()

    def recall(self, text: str) -> None:
        """Be as `remembered` said; whatever else the text is means the default."""
        try:
            state = msgspec.json.decode(text, type=_Remembered)
        except msgspec.MsgspecError:
            state = _Remembered()
        self._dock_width = max(_LEAST_DOCK, state.dock_width)
        self.show_dock(state.dock)

    def _show_widget(self, widget: QWidget) -> None:
        if self._stack.indexOf(widget) < 0:
            self._stack.addWidget(widget)
        self._stack.setCurrentWidget(widget)

    def _place_dock(self) -> None:
        beside = self.dock_on and self.page != "monitor"
        if beside:
            monitor = self._pages.monitor
            if self._dock_column.indexOf(monitor) < 0:
                self._dock_column.addWidget(monitor)
            monitor.show()
        if beside == self.dock.isVisibleTo(self):
            return
        self.dock.setVisible(beside)
        if beside:
            width = max(self.width(), _LEAST_PAGE + _LEAST_DOCK)
            dock = max(_LEAST_DOCK, min(self._dock_width, round(width * _MOST_SHARE)))
            self.setSizes([width - dock, dock])

    def _on_moved(self) -> None:
        if self.dock.isVisible():
            self._dock_width = self.dock.width()
