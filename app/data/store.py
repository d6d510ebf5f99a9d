"""Store: the database for the one process that has it, reads here, writes in a thread."""

import sqlite3
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QLockFile, QObject, Qt, Signal

from app.data.data_error import DataError, from_sqlite
from app.data.database import open_database, open_for_reading
from app.data.searcher import Searcher
from app.data.writer import Write, Writer
from app.outcome import tell
from app.single_instance import unseen_holder

OnSaved = Callable[[str | None], None]


class Store(QObject):
    """Owns the file: its lock, a connection that reads, and the writer.

    Signals:
        failed: Something is not on disk; it is kept and tried again. arg: a sentence.
        recovered: All of it is on disk after all.
    """

    failed = Signal(str)
    recovered = Signal()
    _attempted = Signal()

    def __init__(self, path: Path, parent: QObject | None = None):
        super().__init__(parent)
        self.path = path
        self._lock = _lock(path)
        try:
            writing = open_database(path)
        except DataError:
            self._lock.unlock()
            raise
        self._reading = open_for_reading(path)
        self._waiting: dict[int, OnSaved] = {}
        self._n_tokens = 0
        self._trouble = ""
        self._open = True
        self._attempted.connect(self._on_attempted, Qt.ConnectionType.QueuedConnection)
        self.writer = Writer(writing, self._attempted.emit)
        self.searcher = Searcher(path, self)

    @property
    def idle(self) -> bool:
        """Whether everything is on disk."""
        return self.writer.idle

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """What is on disk, which lags behind `write` by a moment.

        Raises:
            DataError: The file cannot be read.
        """
        try:
            return self._reading.execute(sql, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise from_sqlite(error, self.path, "could not be read") from None

    def write(
        self,
        sql: str,
        values: Sequence[object],
        *,
        key: Hashable = None,
        soon: bool = False,
        on_saved: OnSaved | None = None,
    ) -> None:
        """Write in the background; see Writer for `key` and `soon`.

        `on_saved` hears why not when an attempt failed, at most once, and None when it is on disk.
        """
        token = 0
        if on_saved is not None:
            self._n_tokens += 1
            token = self._n_tokens
            self._waiting[token] = on_saved
        self.writer.put([Write(sql, values, key, token)], soon=soon)

    def flush(self) -> None:
        """Return once everything has been tried and its outcome told."""
        self.writer.flush()
        self._on_attempted()

    def close(self) -> None:
        """Write what waits, tell its outcome, and let go of the file."""
        if not self._open:
            return
        self._open = False
        self.searcher.close()
        self.writer.close()
        self._on_attempted()
        self._reading.close()
        self._lock.unlock()

    def _on_attempted(self) -> None:
        trouble = self._trouble
        for token, error in self.writer.take_outcomes():
            trouble = "" if error is None else self._sentence(error)
            on_saved = self._waiting.get(token)
            if error is None:
                self._waiting.pop(token, None)
            if on_saved is not None:
                tell(on_saved, trouble or None)
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble:
            self.failed.emit(trouble)
        else:
            self.recovered.emit()

    def _sentence(self, error: Exception) -> str:
        if isinstance(error, sqlite3.Error):
            return str(from_sqlite(error, self.path, "could not be saved"))
        why = "there is not enough memory" if isinstance(error, MemoryError) else error
        return f"Conversations could not be saved: {why}"


def _lock(path: Path) -> QLockFile:
    """Held until the process ends, however it ends.

    Raises:
        DataError: Another process holds it, or the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            "storage",
            f"The data folder {path.parent} could not be made: {error.strerror}",
            "Choose another data folder in the settings.",
        ) from None
    lock = QLockFile(f"{path}.lock")
    lock.setStaleLockTime(0)  # however long it is held; one whose process is gone does not count
    if lock.tryLock(0):
        return lock
    if lock.error() == QLockFile.LockError.LockFailedError:
        said = f"Runahead is already open with the conversations in {path.parent}"
        if unseen := unseen_holder(lock):
            raise DataError("in use", said, unseen)
        process, *_ = lock.getLockInfo()
        hint = "Use that window, or close it first."
        raise DataError("in use", f"{said} (process {process})", hint)
    raise DataError(
        "storage",
        f"The folder {path.parent} cannot be written to",
        "Check its permissions and the space on its disk, or choose another data folder.",
    )
