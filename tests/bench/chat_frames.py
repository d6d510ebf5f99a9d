"""How smooth chats are: opening and scrolling 5,000 messages, and 16 that stream at once.

    python -m tests.bench.chat_frames [--messages 5000] [--chats 16] [--seconds 20]

A timer of 5 ms is the heartbeat: how much later than that it comes is a gap in which the window did
not answer. The engine is the fake of the tests, so that only the window's own work is measured; it
gives each chat a piece about 30 times a second.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QApplication

from app.chat.chat_page import ChatPage
from app.data.conversations import Conversations
from app.engine_service import EngineService
from app.settings.settings import Settings
from app.theme.theme import Theme
from tests.helpers.fake_client import FakeClient
from tests.helpers.fake_jobs import FakeJobs

BEAT_MS = 5

CODE = """```python
class Queue:
    \"\"\"First in, first out.\"\"\"

    def __init__(self, size: int = 16) -> None:
        self.items = [None] * size  # a ring
        self.head, self.n = 0, 0

    def put(self, item: object) -> None:
        if self.n == len(self.items):
            raise OverflowError(f"more than {len(self.items)} items")
        self.items[(self.head + self.n) % len(self.items)] = item
        self.n += 1
```"""

ANSWER = f"""## What it does

A queue in a **ring** keeps its items in a list of a fixed size, so that neither end has to move
anything; see [the article](https://en.wikipedia.org/wiki/Circular_buffer) and `collections.deque`.

- `put` writes behind the last item,
- `get` takes the first one, and
- when it is full, it says so instead of growing.

{CODE}

| operation | cost | may fail |
|---|---:|:-:|
| put | 1 | yes |
| get | 1 | yes |
| grow | n | no |

> A bound on every queue, and an end to every wait.

So much for the idea. In practice the size matters more than anything else, because a ring that is
too small fails where a list would only have been slow, and one that is too large hides a consumer
that cannot keep up until the memory is gone.
"""


class Heartbeat:
    """Times between beats, and how much of each this thread computed, in milliseconds.

    On a busy machine the first also has what other processes took.
    """

    def __init__(self) -> None:
        self._last = 0.0
        self._last_own = 0.0
        self.gaps: list[float] = []
        self.own: list[float] = []
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(BEAT_MS)
        self._timer.timeout.connect(self._on_beat)

    def start(self) -> None:
        self.gaps, self.own = [], []
        self._last, self._last_own = time.perf_counter(), time.thread_time()
        self._timer.start()

    def stop(self) -> str:
        self._timer.stop()
        gaps = np.array(self.gaps)
        p50, p99 = np.percentile(gaps, [50, 99])
        own = np.array(self.own)
        return (
            f"median {p50:.1f}, p99 {p99:.1f}, longest {gaps.max():.1f} ms; own work p99"
            f" {np.percentile(own, 99):.1f}, longest {own.max():.1f} ms ({len(gaps)} beats)"
        )

    def _on_beat(self) -> None:
        now, own = time.perf_counter(), time.thread_time()
        self.gaps.append((now - self._last) * 1e3)
        self.own.append((own - self._last_own) * 1e3)
        self._last, self._last_own = now, own


class Bench:
    """The page over a fake engine, in a folder of its own."""

    def __init__(self, app: QApplication, folder: Path) -> None:
        self.app = app
        self.client = FakeClient()
        self.client.become_ready()
        self.service = EngineService(self.client, FakeJobs())
        self.conversations = Conversations(folder / "conversations.sqlite")
        self.settings = Settings(folder / "settings.json")
        self.theme = Theme("light", 11)
        self.theme.dress(app)
        self.page = ChatPage(self.service, self.conversations, self.settings, self.theme)
        self.page.resize(1300, 900)
        self.page.show()
        self.heartbeat = Heartbeat()

    def run(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 50)

    def open_many(self, n_messages: int) -> None:
        """Figures of a long conversation: read from disk, shown, scrolled through."""
        long = self.conversations.create(title="Long")
        for n in range(n_messages):
            if n % 2:
                text = f"<think>{'Let me see. ' * 20}</think>\n\n{ANSWER}\nNumber {n}."
            else:
                text = f"Question {n}: how does a ring work, and where does it end?"
            self.conversations.add_message(long.id, "assistant" if n % 2 else "user", text)
        self.conversations.flush()
        self.conversations._trees.clear()  # as after a start
        self.run(0.5)
        begin = time.perf_counter()
        self.page.open_conversation(long.id)
        self.page.repaint()
        view = self.page.tabs.current
        assert view is not None
        print(f"open {n_messages} messages: {(time.perf_counter() - begin) * 1e3:.0f} ms")
        self.run(0.5)
        bar = view.transcript.verticalScrollBar()
        for name, step in (("wheel", -120), ("page", -850), ("drag", -bar.maximum() // 200)):
            bar.setValue(bar.maximum())
            self.run(0.3)
            self.heartbeat.start()
            for _ in range(200):
                bar.setValue(bar.value() + step)
                self.run(0.016)
            print(f"scroll by {name}: {self.heartbeat.stop()}")
        self.page.close_chat(long.id)

    def stream(self, n_chats: int, seconds: float) -> None:
        """Figures of many chats that stream at once, while tabs are changed now and then."""
        words = (ANSWER * 40).split(" ")
        self.client.reply = lambda request: " ".join(words)
        for n in range(n_chats):
            self.page.new_chat()
            view = self.page.tabs.current
            assert view is not None
            view.composer.set_text(f"Question {n}")
            view.composer.ask_to_send()
            self.run(0.1)
        self.run(0.5)
        for name, tiled in (("one seen", False), ("four seen", True)):
            self.page.tabs.tile_button.setChecked(tiled)
            self.run(0.5)
            n_active = len(self.client.active)
            before = self.client.stats().steps
            self.heartbeat.start()
            for n in range(round(seconds)):
                self.run(1)
                if n % 3 == 2:
                    self.page.tabs.step(1)
            beats = self.heartbeat.stop()
            frames = (self.client.stats().steps - before) / seconds
            print(f"{n_active} chats stream, {name}, {frames:.0f} frames/s: {beats}")

    def close(self) -> None:
        self.page.close()
        self.service.close()
        self.conversations.close()
        self.settings.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--chats", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication([])
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RUNAHEAD_HOME"] = folder
        bench = Bench(app, Path(folder))
        try:
            bench.open_many(options.messages)
            bench.stream(options.chats, options.seconds)
        finally:
            bench.close()


if __name__ == "__main__":
    main()
