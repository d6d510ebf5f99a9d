"""DataChild: a process that saves conversations as fast as it can, to be killed.

Run as a program it is that process: it writes a line `id text` for each message that it was
told is on disk.
"""

import sys
from pathlib import Path

from tests.helpers.child import Child


class DataChild(Child):
    """The parent's side."""

    def __init__(self, path: Path):
        super().__init__("tests.helpers.data_child", path)

    @property
    def acknowledged(self) -> dict[str, str]:
        """Message ids and their texts so far; complete once it is killed."""
        return dict(self.lines)

    def wait_for_acknowledged(self, n: int) -> None:
        assert self.wait_until(lambda: len(self.acknowledged) >= n, timeout_s=60)

    def wait_for_more(self, seconds: float) -> None:
        """Let it go on for this long."""
        self.wait_until(lambda: False, timeout_s=seconds)


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
    _main(Path(sys.argv[1]))
