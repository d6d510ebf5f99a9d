"""FigureTable: names and figures in columns, of one run or of two."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from app.language import tr
from app.runs.comparison import Line
from app.theme.theme import Theme
from app.widgets.plain import plain

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class FigureTable(QTreeWidget):
    """Only to be read."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: list[Line] = []
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setMinimumHeight(220)
        theme.changed.connect(self._on_theme_changed)

    def show_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """(name, figure) of one run."""
        self._lines = []
        self.clear()
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        items = [QTreeWidgetItem(list(row)) for row in rows]
        for item in items:
            item.setToolTip(1, plain(item.text(1)))
        self.addTopLevelItems(items)
        self.header().setStretchLastSection(True)
        self.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)

    def show_lines(self, names: tuple[str, str], lines: Sequence[Line]) -> None:
        """Figures of two runs, and their ratio; the better one is coloured."""
        self._lines = list(lines)
        self.clear()
        self.setColumnCount(4)
        self.setHeaderHidden(False)
        self.setHeaderLabels(["", names[0], names[1], tr("2 / 1")])
        good = QBrush(QColor(self._theme.palette.success))
        for line in lines:
            item = QTreeWidgetItem([line.name, line.first, line.second, line.ratio])
            for column in (1, 2, 3):
                item.setTextAlignment(column, _RIGHT)
            if line.better:
                item.setForeground(1 if line.better < 0 else 2, good)
            self.addTopLevelItem(item)
        header = self.header()
        for column in (1, 2, 3):
            self.headerItem().setTextAlignment(column, _RIGHT)
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def _on_theme_changed(self) -> None:
        if self._lines:
            names = (self.headerItem().text(1), self.headerItem().text(2))
            self.show_lines(names, self._lines)
