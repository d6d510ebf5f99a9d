"""ProgressLines: what progress bars become in a file or a pipe."""

import threading
import time
from datetime import timedelta

from rich.console import Console
from rich.progress import Progress

# Seconds between lines: at first these, later a tenth of what has passed, at most a minute.
_FIRST_S, _MOST_S = 5.0, 60.0


class ProgressLines(Progress):
    """A line about the newest task now and then, also while nobody reports anything.

    What takes a few seconds is not told at all. A thread writes the lines, from start() to stop().
    """

    def __init__(self, console: Console, first_s: float = _FIRST_S) -> None:
        super().__init__(console=console, disable=True)
        self._first_s = first_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="progress", daemon=True)

    def start(self) -> None:
        """Begin to tell."""
        self._thread.start()

    def stop(self) -> None:
        """Tell no more; may be called again."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _tell(self) -> None:
        begin = time.monotonic()
        wait_s = self._first_s
        while not self._ended.wait(wait_s):
            passed_s = time.monotonic() - begin
            wait_s = min(_MOST_S, max(self._first_s, passed_s / 10))
            if line := self._line(passed_s):
                self.console.print(line, markup=False, soft_wrap=True)

    def _line(self, passed_s: float) -> str:
        if not self.tasks:
            return ""
        task = self.tasks[-1]
        share = f" {int(task.percentage)}%" if task.total else ""
        parts = [f"{task.description}{share}", task.fields.get("amount", "")]
        parts.append(f"{timedelta(seconds=int(passed_s))} so far")
        return ", ".join(part for part in parts if part)
