"""DataChild: a process that saves conversations as fast as it can, to be killed.

Run as a program it is that process: it writes a line `id state text` for each message that it was
told is on disk.
"""

import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]


class DataChild:
    """The parent's side; `acknowledged` maps message ids to their texts."""

    def __init__(self, path: Path):
        self.acknowledged: dict[str, str] = {}
        self._heard = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.pid = self._process.pid

    def __enter__(self) -> "DataChild":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def wait_for_acknowledged(self, n: int) -> None:
        with self._heard:
            assert self._heard.wait_for(lambda: len(self.acknowledged) >= n, timeout=60)

    def wait_for_more(self, seconds: float) -> None:
        """Let it go on for this long."""
        with self._heard:
            self._heard.wait_for(lambda: False, timeout=seconds)

    def kill(self) -> None:
        """SIGKILL; afterwards `acknowledged` is complete."""
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
            message, text = line.rstrip("\n").split(" ", 1)
            with self._heard:
                self.acknowledged[message] = text
                self._heard.notify_all()


def _main(path: Path) -> None:
    import os

    from PySide6.QtCore import QCoreApplication, QTimer

    from app.data.conversations import Conversations

    app = QCoreApplication([])
    conversations = Conversations(path)
    counter = 0

    def acknowledge(reason: str | None, message: str, text: str) -> None:
        assert reason is None, reason
        os.write(1, f"{message} {text}\n".encode())

    def work() -> None:
        nonlocal counter
        counter += 1
        if counter % 10 == 1:
            conversations.create(title=f"chat {counter}")
        chat = conversations.all()[0]
        text = f"question {counter} " + "word " * (counter % 7 * 100)
        message = conversations.add_message(
            chat.id,
            "user",
            text,
            on_saved=lambda reason: acknowledge(reason, message.id, text),
        )
        reply = conversations.add_message(chat.id, "assistant", "", state="streaming")
        for number in range(3):
            conversations.save_text(reply.id, "reply " * number)
        if counter % 3:
            conversations.save_text(reply.id, "reply " * 40, state="done")
        if counter % 25 == 0:
            conversations.remove(conversations.create(title="short-lived").id)
            conversations.purge_removed()

    timer = QTimer(interval=1)
    timer.timeout.connect(work)
    timer.start()
    app.exec()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    _main(Path(sys.argv[1]))
