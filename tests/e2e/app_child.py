"""AppChild: the real app in a process of its own, to be killed while three replies stream.

Run as a program it is that process: each line of its output is a word and what belongs to it.

    engine PID             the process that computes
    asked [ID, TEXT]       a question is on disk, as the app says
    streams ID             a reply has begun
    text [ID, TEXT]        what is shown of a reply so far
    saved [ID, TEXT]       what of a reply was on disk before this was said
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]


class AppChild:
    """The parent's side: `said(word)` are the lines of a kind so far."""

    def __init__(self, model: Path) -> None:
        self._lines: dict[str, list[str]] = {}
        self._heard = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(model)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> "AppChild":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def said(self, word: str) -> list[str]:
        """What followed the word, in order."""
        with self._heard:
            return list(self._lines.get(word, []))

    def wait_for(self, word: str, n: int) -> None:
        """Until it was said n times."""
        with self._heard:
            came = self._heard.wait_for(lambda: len(self._lines.get(word, [])) >= n, timeout=120)
            assert came, f"{word!r} was said {len(self._lines.get(word, []))} times"

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
                self._lines.setdefault(word, []).append(rest)
                self._heard.notify_all()


def _main(model: Path) -> None:
    from PySide6.QtWidgets import QApplication

    from tests.e2e.real_app import RealApp, wait

    def say(word: str, *what: object) -> None:
        os.write(1, f"{word} {json.dumps(what) if len(what) > 1 else what[0]}\n".encode())

    qt = QApplication([])
    app = RealApp()
    app.settings.set("link", "40MB/s")
    app.use_preset(max_tokens=3000)
    app.add_and_load(model)
    say("engine", app.engine_pid)
    app.conversations.message_saved.connect(lambda id: _say_asked(app, say, id))
    views = [app.ask_in_new_tab(f"Question {n}?") for n in range(3)]
    for view in views:
        say("streams", view.chat.messages[-1].id)
    for n in range(10_000):
        wait(0.02)
        for view in views:
            message = view.chat.messages[-1]
            if view.chat.reply and view.chat.reply.text:
                say("text", message.id, view.chat.reply.text)
        if n % 10 == 9:
            texts = [(v.chat.messages[-1].id, v.chat.messages[-1].text) for v in views]
            app.conversations.flush()
            for message_id, text in texts:
                say("saved", message_id, text)
    del qt


def _say_asked(app: object, say: object, message_id: str) -> None:
    message = app.conversations.message(message_id)  # type: ignore[attr-defined]
    if message.role == "user":
        say("asked", message.id, message.text)  # type: ignore[operator]


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    _main(Path(sys.argv[1]))
