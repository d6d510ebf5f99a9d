"""SavedTasks: tasks and their items as they are on disk."""

import time
from typing import TypeVar

import msgspec

from app.data.data_error import DataError
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
    """Reads at once, writes in the background, as the store does.

    What makes no sense in a row is left at its default; a row without the rest is left out.

    Attributes:
        damage: What could not be read so far, for whoever looks for the cause.
    """

    def __init__(self, store: Store):
        self.damage: list[str] = []
        self._store = store
        sql = "DELETE FROM task WHERE removed <= ?"
        store.write(sql, (time.time() - _KEPT_REMOVED_S,))

    def all(self) -> list[Task]:
        """Those that have not been removed, newest first."""
        sql = f"SELECT {', '.join(_TASK)} FROM task WHERE removed IS NULL ORDER BY created DESC"
        return self._made(Task, _TASK, sql)

    def items(self, task_id: str) -> list[TaskItem]:
        """In their order, their places counted from 0."""
        sql = f"SELECT {', '.join(_ITEM)} FROM task_item WHERE task = ? ORDER BY place"
        found = self._made(TaskItem, _ITEM, sql, task_id)
        return [
            item if item.place == place else msgspec.structs.replace(item, place=place)
            for place, item in enumerate(found)
        ]

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

    def _made(self, kind: type[_T], names: tuple[str, ...], sql: str, *values: object) -> list[_T]:
        try:
            rows = self._store.rows(sql, values)
        except DataError as error:
            self.damage.append(error.message)
            return []
        made = (self._made_one(kind, dict(zip(names, row, strict=True))) for row in rows)
        return [each for each in made if each is not None]

    def _made_one(self, kind: type[_T], fields: dict[str, object]) -> _T | None:
        try:
            return msgspec.convert(fields, kind, strict=False)
        except msgspec.ValidationError as error:
            self.damage.append(str(error))
        sound = {
            field.name: fields[field.name]
            for field in msgspec.structs.fields(kind)
            if _is_sound(fields[field.name], field.type)
        }
        try:
            return msgspec.convert(sound, kind, strict=False)
        except msgspec.ValidationError:
            return None


def _is_sound(value: object, kind: object) -> bool:
    try:
        msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return False
    return True
