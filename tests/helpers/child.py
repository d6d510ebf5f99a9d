"""Child: a process that says line by line what it has done, to be killed."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[2]


class Child:
    """The parent's side of a module that is run as a program with one path."""

    def __init__(self, module: str, path: Path) -> None:
        self._lines: list[tuple[str, str]] = []
        self._heard = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The first word of each line so far, and what followed it."""
        with self._heard:
            return list(self._lines)

    def wait_until(self, done: Callable[[], bool], timeout_s: float) -> bool:
        """Look again at each line; False when the time is over."""
        with self._heard:
            return self._heard.wait_for(done, timeout=timeout_s)

    def kill(self) -> None:
        """SIGKILL; afterwards all that was said is known."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not line.endswith("\n"):
                return  # killed while it wrote
            word, rest = line.rstrip("\n").split(" ", 1)
            with self._heard:
                self._lines.append((word, rest))
                self._heard.notify_all()
