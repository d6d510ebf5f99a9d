"""Background: work that may take long, outside the window's thread, one thing after another."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from engine.errors import EngineError

T = TypeVar("T")


class Task:
    """One piece of work; `cancelled` is for the work to look at."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        """Its result is not wanted any more; work that has not begun is left out."""
        self.cancelled = True


class Background(QObject):
    """A thread with a queue; results are handed over in the window's thread.

    After `close` nothing is handed over, and no thread is left.
    """

    _ended = Signal(object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._closed = False
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._ended.connect(self._on_ended)

    def run(
        self,
        work: Callable[[Task], T],
        done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> Task:
        """Do `work` in the thread, then call one of the others in the window's.

        EngineError and OSError go to `failed`; anything else is a fault of ours and is raised again
        in the window's thread.
        """
        task = Task()

        def call() -> None:
            if task.cancelled:
                return
            try:
                result = work(task)
            except Exception as error:  # told, or raised again, in the window's thread
                self._hand_over(task, partial(_tell, error, failed))
            else:
                self._hand_over(task, partial(done, result) if done else _nothing)

        if not self._closed:
            self._executor.submit(call)
        return task

    def close(self, *, finish: bool = False) -> None:
        """Wait for what has begun, and with `finish` for all; safe to call twice."""
        self._closed = True
        self._executor.shutdown(wait=True, cancel_futures=not finish)

    def _hand_over(self, task: Task, report: Callable[[], None]) -> None:
        if not self._closed:
            self._ended.emit((task, report))

    @Slot(object)
    def _on_ended(self, ended: tuple[Task, Callable[[], None]]) -> None:
        task, report = ended
        if not self._closed and not task.cancelled:
            report()


def _nothing() -> None:
    pass


def _tell(error: Exception, failed: Callable[[Exception], None] | None) -> None:
    if failed is None or not isinstance(error, EngineError | OSError):
        raise error
    failed(error)


def sentence(error: Exception) -> str:
    """What went wrong, for a person."""
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror or error}{where}"
    return str(error)
