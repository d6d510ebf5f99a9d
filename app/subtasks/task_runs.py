"""TaskRuns: all tasks, those that run and those of earlier days."""

import time
import uuid
from collections.abc import Sequence
from textwrap import shorten

import msgspec
from PySide6.QtCore import QObject, Signal

from app.data.conversations import Conversations
from app.data.saved_tasks import SavedTasks
from app.data.task import Task, TaskItem
from app.engine_service import EngineService
from app.language import tr
from app.settings.settings import Settings
from app.subtasks.task_run import TaskRun

_TITLE_LENGTH = 120


class TaskRuns(QObject):
    """Newest first.

    Signals:
        added: New or restored. arg: TaskRun.
        removed: arg: TaskRun.
    """

    added = Signal(object)
    removed = Signal(object)

    def __init__(
        self,
        service: EngineService,
        conversations: Conversations,
        settings: Settings,
        parent: QObject | None = None,
    ):
        super().__init__(parent)
        self._service = service
        self._conversations = conversations
        self._settings = settings
        self._saved = SavedTasks(conversations.store)
        self._runs = [self._run(task, self._saved.items(task.id)) for task in self._saved.all()]
        if self._saved.damage:
            why = self._saved.damage[0]
            conversations.failed.emit(
                tr(
                    "Some of your tasks could not be read whole: {file} is damaged ({why}). "
                    "The rest is shown.",
                    file=conversations.store.path,
                    why=why,
                )
            )

    def all(self) -> list[TaskRun]:
        """Newest first."""
        return list(self._runs)

    def create(self, task: Task, items: Sequence[str]) -> TaskRun:
        """Save a task and its items; `run_rest` starts it. Its id, time and title are filled in."""
        first_line = next((line for line in task.prompt.splitlines() if line.strip()), "")
        task = msgspec.structs.replace(
            task,
            id=uuid.uuid4().hex,
            created=time.time(),
            title=task.title or shorten(first_line, _TITLE_LENGTH, placeholder="…"),
        )
        made = [
            TaskItem(id=uuid.uuid4().hex, task=task.id, place=place, text=text)
            for place, text in enumerate(items)
        ]
        self._saved.save(task)
        for item in made:
            self._saved.save_item(item)
        run = self._run(task, made)
        self._runs.insert(0, run)
        self.added.emit(run)
        return run

    def remove(self, run: TaskRun) -> None:
        """Stop it and take it away with its chats, until `restore` or a day later."""
        run.stop_all()
        self._runs.remove(run)
        self._saved.remove(run.task.id)
        for conversation in self._conversations_of(run):
            self._conversations.remove(conversation)
        self.removed.emit(run)

    def restore(self, run: TaskRun) -> None:
        """Undo `remove`."""
        self._saved.restore(run.task.id)
        for conversation in (item.conversation for item in run.items):
            self._restore(conversation)
        self._restore(run.task.summary)
        self._runs.append(run)
        self._runs.sort(key=lambda each: each.task.created, reverse=True)
        self.added.emit(run)

    def stop(self) -> None:
        """Stop all that runs."""
        for run in self._runs:
            if run.is_active:
                run.stop_all()

    def stop_in(self, conversation: str) -> None:
        """Stop what a task is writing into a conversation."""
        for run in self._runs:
            for item in run.items if run.is_active else ():
                if item.conversation == conversation and run.live(item.place):
                    run.stop(item.place)
            if run.summary.is_active and run.summary.conversation == conversation:
                run.summary.stop()

    def _conversations_of(self, run: TaskRun) -> list[str]:
        known = {conversation.id for conversation in self._conversations.all("subtask")}
        named = [run.task.summary, *(item.conversation for item in run.items)]
        return [each for each in named if each in known and each is not None]

    def _restore(self, conversation: str | None) -> None:
        if conversation is not None and self._conversations.is_removed(conversation):
            self._conversations.restore(conversation)

    def _run(self, task: Task, items: Sequence[TaskItem]) -> TaskRun:
        return TaskRun(
            task, items, self._saved, self._service, self._conversations, self._settings, self
        )
