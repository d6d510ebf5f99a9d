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
import sys
from pathlib import Path

from tests.helpers.child import Child


class AppChild(Child):
    """The parent's side: `said(word)` are the lines of a kind so far."""

    def __init__(self, model: Path) -> None:
        super().__init__("tests.e2e.app_child", model)

    def said(self, word: str) -> list[str]:
        """What followed the word, in order."""
        return [rest for said, rest in self.lines if said == word]

    def wait_for(self, word: str, n: int) -> None:
        """Until it was said n times."""
        came = self.wait_until(lambda: len(self.said(word)) >= n, timeout_s=120)
        assert came, f"{word!r} was said {len(self.said(word))} times"


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
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    _main(Path(sys.argv[1]))
