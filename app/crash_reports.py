"""CrashReports: what went wrong inside the app, kept in files on this computer and nowhere else."""

import faulthandler
import platform
import sys
import threading
import time
import traceback
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import IO

from PySide6.QtCore import QMessageLogContext, QObject, QtMsgType, Signal, qInstallMessageHandler

from engine.versions import versions

MOST_REPORTS = 20  # kept; the oldest go
MOST_PER_RUN = 10  # written by one run: a fault in a timer comes again and again
MOST_CHARACTERS = 40_000  # of one report
KEPT_MESSAGES = 50  # of Qt, which a report ends with
_HARD = "hard-crash.txt"

_Qt = QtMsgType


class CrashReports(QObject):
    """Catches exceptions that nobody caught, Qt's messages, and crashes of the process itself.

    Signals:
        reported: A report was written. arg: its path as str. Comes from any thread.

    Attributes:
        folder: Where they are.
        enabled: While False, exceptions still reach standard error, and nothing is written.
        found_crash: The report of a crash that ended the run before this one; None mostly.
    """

    reported = Signal(str)

    def __init__(
        self, folder: Path, *, enabled: bool = True, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.folder = folder
        self.enabled = enabled
        self.found_crash: Path | None = None
        self._messages: deque[str] = deque(maxlen=KEPT_MESSAGES)
        self._told: set[str] = set()  # tracebacks of this run
        self._lock = threading.Lock()
        self._hard: IO[str] | None = None
        self._handlers_before = (sys.excepthook, threading.excepthook)
        self._installed = False

    def install(self) -> None:
        """Catch from here on."""
        self._installed = True
        self._handlers_before = (sys.excepthook, threading.excepthook)
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        qInstallMessageHandler(self._on_qt_message)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._take_hard_crash()
            self._hard = (self.folder / _HARD).open("w", encoding="utf-8")
            faulthandler.enable(self._hard, all_threads=True)
        except OSError as error:
            print(f"runahead: no crash reports: {error}", file=sys.stderr)

    def close(self) -> None:
        """Catch no more; safe to call twice."""
        if not self._installed:
            return
        self._installed = False
        sys.excepthook, threading.excepthook = self._handlers_before
        qInstallMessageHandler(None)
        if self._hard is not None:
            faulthandler.disable()
            self._hard.close()
            self._hard = None
            (self.folder / _HARD).unlink(missing_ok=True)  # it ended as it should

    def write(self, what: str) -> Path | None:
        """Write a report; None when there were enough, or the disk refuses."""
        with self._lock:
            if not self.enabled or what in self._told or len(self._told) >= MOST_PER_RUN:
                return None
            self._told.add(what)
            number = len(self._told)
        stamp = time.strftime("%Y-%m-%d-%H%M%S")
        path = self.folder / f"crash-{stamp}-{number}.txt"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            text = self._text(what)[:MOST_CHARACTERS]
            # Names of files may be no Unicode.
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
            self._prune(path)
        except OSError as error:
            print(f"runahead: no crash report: {error}", file=sys.stderr)
            return None
        return path

    def _text(self, what: str) -> str:
        about = "\n".join(f"{name} {version}" for name, version in versions().items())
        messages = "\n".join(self._messages)
        return (
            f"Runahead stopped what it was doing, {time.strftime('%Y-%m-%d %H:%M:%S %z')}\n\n"
            f"{what.strip()}\n\n{about}\nPython {platform.python_version()}\n"
            f"{platform.platform()}\n\nLast messages of Qt:\n{messages}\n"
        )

    def _prune(self, newest: Path) -> None:
        """`newest` stays, also where the clock was set back and its name is the oldest."""
        reports = sorted(self.folder.glob("crash-*.txt"), key=lambda path: (path == newest, path))
        for path in reports[:-MOST_REPORTS]:
            path.unlink(missing_ok=True)

    def _take_hard_crash(self) -> None:
        """What faulthandler wrote when the last run died becomes a report."""
        hard = self.folder / _HARD
        if hard.exists() and (text := hard.read_text(encoding="utf-8", errors="replace").strip()):
            self.found_crash = self.write(text)

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        self._handlers_before[0](kind, error, trace)  # for whoever started us in a terminal
        if not issubclass(kind, KeyboardInterrupt):
            self._report(kind, error, trace)

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        self._handlers_before[1](args)
        if args.exc_value is not None and not issubclass(args.exc_type, SystemExit):
            self._report(args.exc_type, args.exc_value, args.exc_traceback)

    def _report(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        lines = traceback.format_exception(kind, error, trace)
        if path := self.write("".join(lines)):
            self.reported.emit(str(path))

    def _on_qt_message(self, kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
        line = f"{kind.name} {context.category or ''}: {text}"
        self._messages.append(line)
        if kind in (_Qt.QtCriticalMsg, _Qt.QtFatalMsg):
            self.write(line)
        if kind is not _Qt.QtDebugMsg:
            print(f"runahead: {text}", file=sys.stderr)
