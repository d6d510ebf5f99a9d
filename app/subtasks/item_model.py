"""ItemModel and RunModel: a task's items, and all tasks, for list views."""

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.subtasks.row_look import LOOK, RowLook
from app.subtasks.task_run import TaskRun
from app.subtasks.task_runs import TaskRuns
from app.subtasks.words import item_look, run_look
from app.widgets.plain import plain

_Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class ItemModel(QAbstractListModel):
    """The items of one run at a time."""

    def __init__(self, parent: QObject | None = None):
        super().__init__(parent)
        self._run: TaskRun | None = None
        self._looks: dict[int, RowLook] = {}

    def set_run(self, run: TaskRun | None) -> None:
        """Show another one."""
        self.beginResetModel()
        if self._run is not None:
            self._run.item_changed.disconnect(self._on_item_changed)
        self._run = run
        self._looks.clear()
        if run is not None:
            run.item_changed.connect(self._on_item_changed)
        self.endResetModel()

    def rowCount(self, parent: _Index = _ROOT) -> int:  # noqa: N802, Qt's name
        """One per item."""
        return 0 if parent.isValid() or self._run is None else len(self._run.items)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The item's text, its look, or both as words."""
        if self._run is None or not 0 <= index.row() < len(self._run.items):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._run.items[index.row()].text
        if role not in (LOOK, Qt.ItemDataRole.AccessibleTextRole):
            return None
        look = self._looks.get(index.row())
        if look is None:
            look = self._looks[index.row()] = item_look(self._run, index.row())
        return look if role == LOOK else f"{look.title}. {look.figures}. {look.line}"

    def _on_item_changed(self, place: int) -> None:
        self._looks.pop(place, None)
        index = self.index(place)
        self.dataChanged.emit(index, index)


class RunModel(QAbstractListModel):
    """All tasks, newest first."""

    def __init__(self, runs: TaskRuns, parent: QObject | None = None):
        super().__init__(parent)
        self._runs = runs
        self._shown = runs.all()
        for run in self._shown:
            self._listen(run)
        runs.added.connect(self._on_added)
        runs.removed.connect(self._on_removed)

    def run(self, row: int) -> TaskRun:
        """The task in a row."""
        return self._shown[row]

    def row_of(self, run: TaskRun | None) -> int:
        """Where a task is; -1 when it is not."""
        return self._shown.index(run) if run is not None and run in self._shown else -1

    def rowCount(self, parent: _Index = _ROOT) -> int:  # noqa: N802, Qt's name
        """One per task."""
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The title, the look, or both as words."""
        if not 0 <= index.row() < len(self._shown):
            return None
        run = self._shown[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return run.task.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(run.task.prompt[:500])
        look = run_look(run)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{look.title}. {look.line}"
        return look if role == LOOK else None

    def _listen(self, run: TaskRun) -> None:
        run.changed.connect(self._on_changed)
        run.renamed.connect(self._on_changed)
        run.summary.changed.connect(self._on_changed)

    def _on_added(self, run: TaskRun) -> None:
        row = self._runs.all().index(run)
        self.beginInsertRows(QModelIndex(), row, row)
        self._shown.insert(row, run)
        self.endInsertRows()
        self._listen(run)

    def _on_removed(self, run: TaskRun) -> None:
        row = self._shown.index(run)
        self.beginRemoveRows(QModelIndex(), row, row)
        del self._shown[row]
        self.endRemoveRows()
        for signal in (run.changed, run.renamed, run.summary.changed):
            signal.disconnect(self._on_changed)

    def _on_changed(self) -> None:
        if self._shown:
            self.dataChanged.emit(self.index(0), self.index(len(self._shown) - 1))
