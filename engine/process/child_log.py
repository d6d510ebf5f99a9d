"""ChildLog: what a child process writes to its output, kept small; of use when it dies."""

import contextlib
import itertools
import os
from datetime import UTC, datetime
from pathlib import Path

from engine import folders

KEPT_FILES = 20
MAX_BYTES = 1 << 20
_TAIL_BYTES = 16 << 10
_MOST_LINES = 3
_MOST_CHARACTERS = 300
# What faulthandler prints first; what follows is of use to us, not to whom it is shown.
_FATAL = "Fatal Python error"
_numbers = itertools.count(1)


class ChildLog:
    """One file in the folder for logs; none where that cannot be written.

    Attributes:
        handle: Where the child shall write to, until handed_over().
    """

    def __init__(self, name: str):
        folder = folders.logs()
        stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}-{next(_numbers)}"
        self.path = folder / f"{name}-{stamp}.log"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _prune(folder, name)
            # Read too, for keep_small(); whoever appends goes on at the end after it.
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
            self.handle = os.open(self.path, flags, 0o644)
        except OSError:
            self.handle = os.open(os.devnull, os.O_RDWR)

    def handed_over(self) -> None:
        """The child has it (or will never): nobody here writes."""
        os.close(self.handle)

    def last_words(self) -> str:
        """The last lines, as one; "" when there are none."""
        lines = [line.strip() for line in self._tail().splitlines() if line.strip()]
        for n, line in enumerate(lines):
            if line.startswith(_FATAL):
                lines = lines[: n or 1]
                break
        return " / ".join(lines[-_MOST_LINES:])[-_MOST_CHARACTERS:]

    def remove_if_empty(self) -> None:
        """Forget the file of a child that had nothing to say."""
        with contextlib.suppress(OSError):
            if self.path.stat().st_size == 0:
                self.path.unlink()

    def _tail(self) -> str:
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
                return file.read(_TAIL_BYTES).decode("utf-8", errors="replace")
        except OSError:
            return ""


def keep_small(handle: int, most_bytes: int = MAX_BYTES) -> None:
    """Cut an open log file to its last part when it has grown too large."""
    size = os.fstat(handle).st_size
    if size > most_bytes:
        kept = os.pread(handle, most_bytes // 2, size - most_bytes // 2)
        os.ftruncate(handle, 0)
        os.write(handle, kept)


def _prune(folder: Path, name: str) -> None:
    """The names begin with the time (UTC), so their order is that of age."""
    files = sorted(folder.glob(f"{name}-*.log"))
    for path in files[: max(0, len(files) - KEPT_FILES + 1)]:
        path.unlink(missing_ok=True)
