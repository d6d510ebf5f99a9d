"""ExportProcess: exports a run log in a process of its own, as `runahead export-log` does.

Millions of records become lines of text there; the window would stand still meanwhile.
"""

import contextlib
import os
import sys
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

import engine
from app.language import tr
from engine.atomic_file import partials
from engine.runlog.export import Format

LOOK_MS = 200
KILL_MS = 3000
_PACKAGES = Path(engine.__file__).resolve().parents[1]


class Export(msgspec.Struct, frozen=True):
    """What to export, and where to; `first_step` and `n_steps` are for pictures."""

    folder: Path
    path: Path
    form: Format
    first_step: int = 0
    n_steps: int = 2


class ExportProcess(QObject):
    """One export at a time.

    Signals:
        progressed: Bytes written so far. arg: int, as object (it may not fit into Qt's).
        finished: It is whole. arg: Export.
        failed: Nothing was written. args: Export, why ("" when it was cancelled).
    """

    progressed = Signal(object)
    finished = Signal(object)
    failed = Signal(object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._export: Export | None = None
        self._cancelled = False
        self._process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        others = os.environ.get("PYTHONPATH", "")
        path = os.pathsep.join([str(_PACKAGES), *([others] if others else [])])
        environment.insert("PYTHONPATH", path)
        self._process.setProcessEnvironment(environment)
        self._process.finished.connect(self._on_finished)
        self._process.errorOccurred.connect(self._on_error)
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self._on_timeout)

    @property
    def active(self) -> Export | None:
        """What is being exported."""
        return self._export

    def start(self, export: Export) -> None:
        """Begin; REQUIRES: none is active."""
        assert self._export is None
        self._export, self._cancelled = export, False
        words = ["-P", "-m", "engine", "export-log", str(export.folder), "-o", str(export.path)]
        words += ["--format", export.form]
        if export.form == "png":
            words += ["--steps", str(export.n_steps), "--from", str(export.first_step)]
        self._process.start(sys.executable, words)
        self._timer.start()

    def cancel(self) -> None:
        """Stop it; nothing half-written stays."""
        if self._export:
            self._cancelled = True
            self._process.terminate()
            QTimer.singleShot(KILL_MS, self._process, self._kill_if_running)

    def close(self) -> None:
        """End it, and wait for that."""
        self._timer.stop()
        if self._process.state() is not QProcess.ProcessState.NotRunning:
            self._process.finished.disconnect(self._on_finished)
            self._process.terminate()
            if not self._process.waitForFinished(KILL_MS):
                self._process.kill()
                self._process.waitForFinished(KILL_MS)
            self._remove_partial()
        self._export = None

    def _on_timeout(self) -> None:
        written = 0
        for path in self._partials():
            with contextlib.suppress(OSError):  # it has just become whole
                written += path.stat().st_size
        self.progressed.emit(written)

    def _on_finished(self, code: int) -> None:
        self._timer.stop()
        said = bytes(self._process.readAllStandardError().data()).decode(errors="replace")
        export = self._export
        assert export
        self._remove_partial()
        self._export = None
        if code == 0 and not self._cancelled:
            self.finished.emit(export)
        else:
            self.failed.emit(export, "" if self._cancelled else _last_words(said))

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._export:
            self._timer.stop()
            export, self._export = self._export, None
            self.failed.emit(export, self._process.errorString())

    def _kill_if_running(self) -> None:
        if self._cancelled and self._process.state() is not QProcess.ProcessState.NotRunning:
            self._process.kill()

    def _partials(self) -> list[Path]:
        return partials(self._export.path) if self._export else []

    def _remove_partial(self) -> None:
        """The process does so itself, unless it was killed."""
        for path in self._partials():
            with contextlib.suppress(OSError):
                path.unlink()


def _last_words(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        return tr("The export ended without a word.")
    return lines[-1].removeprefix("runahead: ")
