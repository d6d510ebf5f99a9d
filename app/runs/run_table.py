"""RunTable: the list of runs as a table model."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)
from PySide6.QtGui import QColor

from app.durations import duration
from app.language import tr
from app.runs.run_index import RunIndex
from app.runs.run_summary import RunSummary
from app.theme.theme import Theme
from app.widgets.plain import plain
from engine import sizes

Index = QModelIndex | QPersistentModelIndex

RUN_ROLE = Qt.ItemDataRole.UserRole
SORT_ROLE = Qt.ItemDataRole.UserRole + 1

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_WAITING = "…"


class Column(msgspec.Struct, frozen=True):
    """A column: its name, what it says of a run, and what it is sorted by."""

    name: str
    text: Callable[[RunSummary], str]
    key: Callable[[RunSummary], float | str]
    sample: str  # as wide as most of what it says
    is_number: bool = False


def columns() -> list[Column]:
    """From left to right."""

    def figure(show: Callable[[RunSummary], str]) -> Callable[[RunSummary], str]:
        def text(run: RunSummary) -> str:
            if run.state == "damaged":
                return ""
            if run.figures is None:
                return _WAITING
            return show(run) if run.figures.steps else "–"

        return text

    def hit_rate(run: RunSummary) -> float:
        return run.figures.hit_rate if run.figures else -1.0

    def steps(run: RunSummary) -> float:
        return run.figures.steps if run.figures else -1.0

    return [
        Column(tr("Started"), started_text, lambda r: r.started, "2026-12-28 18:28"),
        Column(
            tr("Model"), lambda r: r.title, lambda r: r.title.casefold(), "Qwen3 30B A3B Instruct"
        ),
        Column(tr("Policy"), lambda r: r.policy, lambda r: r.policy, "bevy+prefetch"),
        Column(tr("Cache"), cache_share_text, lambda r: r.cache_share, "88.8%"),
        Column(tr("Steps"), figure(lambda r: f"{steps(r):,.0f}"), steps, "88,888", True),
        Column(
            *(tr("Tokens/s"), figure(lambda r: f"{r.decode_per_s:.1f}"), lambda r: r.decode_per_s),
            *("Tokens/s", True),
        ),
        Column(tr("Hit rate"), figure(lambda r: f"{hit_rate(r):.0%}"), hit_rate, "Hit rate", True),
        Column(tr("Duration"), duration_text, lambda r: r.seconds, "58 min 58 s", True),
        Column(tr("Size"), lambda r: sizes.show(r.n_bytes), lambda r: r.n_bytes, "8.88 MB", True),
        Column(tr("State"), state_text, state_text, "Damaged"),
    ]


def started_text(run: RunSummary) -> str:
    """In this place's time."""
    if not run.started:
        return run.name
    return f"{datetime.fromtimestamp(run.started):%Y-%m-%d %H:%M}"


def cache_share_text(run: RunSummary) -> str:
    """Of all experts; the figures have it in bytes too."""
    return f"{run.cache_share:.0%}" if run.meta else ""


def duration_text(run: RunSummary) -> str:
    """How long it ran."""
    return duration(run.seconds) if run.started else ""


def state_text(run: RunSummary) -> str:
    """In a word."""
    return {
        "running": tr("Running"),
        "finished": tr("Finished"),
        "crashed": tr("Cut off"),
        "damaged": tr("Damaged"),
    }[run.state]


_TIPS = {
    "running": "This run goes on.",
    "crashed": "The engine did not end this log: it crashed or was killed. What is there is whole.",
}
_ROLES = {"running": "success", "crashed": "warning", "damaged": "danger"}


class RunTable(QAbstractTableModel):
    """One row per run."""

    def __init__(self, index: RunIndex, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._index = index
        self._theme = theme
        self._columns = columns()
        self._runs = index.all()
        self._rows = {run.name: row for row, run in enumerate(self._runs)}
        index.listed.connect(self._on_listed)
        index.changed.connect(self._on_changed)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        """How many runs."""
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        """How many columns."""
        return 0 if parent.isValid() else len(self._columns)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The columns' names."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._columns[section].name
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if self._columns[section].is_number else _LEFT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, colour, tip; the RunSummary and the value to sort by under their own roles."""
        run, column = self._runs[index.row()], self._columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(run)
        if role == RUN_ROLE:
            return run
        if role == SORT_ROLE:
            return column.key(run)
        if role == Qt.ItemDataRole.TextAlignmentRole and column.is_number:
            return _RIGHT
        is_state = index.column() == len(self._columns) - 1
        if role == Qt.ItemDataRole.ForegroundRole and is_state and run.state in _ROLES:
            return QColor(self._theme.colour(_ROLES[run.state]))
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(run.error or (tr(_TIPS[run.state]) if run.state in _TIPS else run.name))
        return None

    def sample(self, column: int) -> str:
        """What a column should have room for, to begin with."""
        return self._columns[column].sample

    def row_of(self, name: str) -> int:
        """-1: not there."""
        return self._rows.get(name, -1)

    def _on_listed(self) -> None:
        """Rows come and go one by one, so that selection and place stay."""
        runs = self._index.all()
        names = {run.name for run in runs}
        for row in reversed(range(len(self._runs))):
            if self._runs[row].name not in names:
                self.beginRemoveRows(QModelIndex(), row, row)
                del self._runs[row]
                self.endRemoveRows()
        for row, run in enumerate(runs):
            if row < len(self._runs) and self._runs[row].name == run.name:
                self._runs[row] = run
            else:
                self.beginInsertRows(QModelIndex(), row, row)
                self._runs.insert(row, run)
                self.endInsertRows()
        self._rows = {run.name: row for row, run in enumerate(self._runs)}
        if runs:
            last = self.index(len(runs) - 1, len(self._columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def _on_changed(self, run: RunSummary) -> None:
        row = self._rows.get(run.name, -1)
        if row >= 0:
            self._runs[row] = run
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(self._columns) - 1))


class SortedRuns(QSortFilterProxyModel):
    """Those that a search finds."""

    def __init__(self, source: RunTable, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self.setSortRole(SORT_ROLE)
        self.setSourceModel(source)

    def search(self, text: str) -> None:
        """Show runs whose model, policy or date has every word."""
        self.beginFilterChange()
        self._words = text.casefold().split()
        self.endFilterChange(QSortFilterProxyModel.Direction.Rows)

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:  # noqa: N802
        """Every word is somewhere."""
        run: RunSummary = self.sourceModel().index(row, 0, parent).data(RUN_ROLE)
        text = f"{run.title} {run.policy} {run.name} {started_text(run)} {state_text(run)}"
        return all(word in text.casefold() for word in self._words)
