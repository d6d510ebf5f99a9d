"""SavedTasks: tasks and their items as they are on disk."""

import time
from typing import TypeVar

import msgspec

from app.data.data_error import damaged
from app.data.store import Store
from app.data.task import Task, TaskItem

_KEPT_REMOVED_S = 24 * 3600.0
_TASK = tuple(field.name for field in msgspec.structs.fields(Task))
_ITEM = tuple(field.name for field in msgspec.structs.fields(TaskItem))


def _upsert(table: str, columns: tuple[str, ...]) -> str:
    changed = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
    places = ", ".join("?" * len(columns))
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places}) "
        f"ON CONFLICT (id) DO UPDATE SET {changed}"
    )


_T = TypeVar("_T", Task, TaskItem)

_SAVE_TASK = _upsert("task", _TASK)
_SAVE_ITEM = _upsert("task_item", _ITEM)


class SavedTasks:
    """Reads at once, writes in the background, as the store does."""

    def __init__(self, store: Store):
        self._store = store
        sql = "DELETE FROM task WHERE removed <= ?"
        store.write(sql, (time.time() - _KEPT_REMOVED_S,))

    def all(self) -> list[Task]:
        """Those that have not been removed, newest first.

        Raises:
            DataError: The database cannot be read.
        """
        sql = f"SELECT {', '.join(_TASK)} FROM task WHERE removed IS NULL ORDER BY created DESC"
        return [self._made(Task, _TASK, row) for row in self._store.rows(sql)]

    def items(self, task_id: str) -> list[TaskItem]:
        """In their order."""
        sql = f"SELECT {', '.join(_ITEM)} FROM task_item WHERE task = ? ORDER BY place"
        return [self._made(TaskItem, _ITEM, row) for row in self._store.rows(sql, (task_id,))]

    def save(self, task: Task) -> None:
        """Add or change a task."""
        self._store.write(_SAVE_TASK, msgspec.structs.astuple(task), key=("task", task.id))

    def save_item(self, item: TaskItem) -> None:
        """Add or change an item, after its task and its conversation."""
        values = msgspec.structs.astuple(item)
        self._store.write(_SAVE_ITEM, values, key=("task item", item.id), soon=True)

    def remove(self, task_id: str) -> None:
        """Take a task away; it is deleted for good a day later."""
        self._store.write("UPDATE task SET removed = ? WHERE id = ?", (time.time(), task_id))

    def restore(self, task_id: str) -> None:
        """Undo `remove`."""
        self._store.write("UPDATE task SET removed = NULL WHERE id = ?", (task_id,))

    def _made(self, kind: type[_T], names: tuple[str, ...], row: tuple[object, ...]) -> _T:
        try:
            return msgspec.convert(dict(zip(names, row, strict=True)), kind, strict=False)
        except msgspec.ValidationError as error:
            raise damaged(self._store.path, str(error)) from None
