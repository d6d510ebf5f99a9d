"""Shoots every page of the window in light and dark: `python -m tests.helpers.screenshots FOLDER`.

With the real engine and the demo model in a data folder of its own, which goes afterwards; or with
the fake engine (--fake), for looking at the window without building anything. What was said before
is made up; what streams, and what the monitor shows, is real.
"""

import argparse
import os
import re
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app import folders
from app.application import make_application
from app.data.conversations import Conversations
from app.data.task import Task
from app.engine_service import EngineService
from app.models.library import ModelLibrary
from app.settings.settings import Settings
from app.shell.pages import PAGES
from app.subtasks.subtasks_page import SubtasksPage
from app.theme.theme import DEFAULT_FONT_SIZE, Theme
from app.window import MainWindow
from engine.client import EngineClient
from engine.jobs import JobRunner
from engine.request import Message, Request
from engine.sampling import SamplingParams
from tests.helpers.fake_client import FakeClient
from tests.helpers.fake_jobs import FakeJobs
from tests.helpers.made_up_chats import add_chats

N_STREAMING = 6
SETTLE_S = 1.2  # for a page to be laid out and its plots to fill
WAIT_S = 60.0


class Shooting:
    """One window and its parts, driven from outside the event loop."""

    def __init__(
        self,
        folder: Path,
        size: tuple[int, int],
        *,
        font_size: float,
        fake: bool,
        ending: ExitStack,
    ):
        self._app = QApplication.instance() or make_application()
        self._folder = folder
        self._name_end = f"-{size[0]}x{size[1]}" if size != DEFAULT_SIZE else ""
        self._name_end += f"-{font_size:g}pt" if font_size != DEFAULT_FONT_SIZE else ""
        self.settings = Settings(folders.settings_file())
        self.settings.set("font_size", font_size)
        self.theme = Theme("light", self.settings.get("font_size"))
        self.theme.dress(self._app)  # type: ignore[arg-type]  # it is a QApplication
        self.conversations = Conversations(folders.database())
        library = ModelLibrary(folders.library())
        client, jobs = (FakeClient(), FakeJobs()) if fake else (EngineClient(), JobRunner())
        self.service = EngineService(client, jobs)
        self.window = MainWindow(
            self.service, self.conversations, library, self.settings, self.theme
        )
        for part in (self.settings, self.conversations, library, self.window):
            ending.callback(part.close)
        self.window.resize(*size)
        self.window.show()

    def go_on(self, seconds: float) -> None:
        """Let the window live for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._app.processEvents()
            time.sleep(0.005)

    def wait_for(self, what: Callable[[], bool]) -> None:
        """Let it live until something is so. Raises TimeoutError."""
        end = time.monotonic() + WAIT_S
        while not what():
            if time.monotonic() > end:
                raise TimeoutError
            self.go_on(0.05)

    def shoot(self, name: str) -> None:
        """Save the window in both themes."""
        for mode in ("light", "dark"):
            self.settings.set("theme", mode)
            self.go_on(SETTLE_S)
            path = self._folder / f"{name}-{mode}{self._name_end}.png"
            assert self.window.grab().save(str(path)), path
            print(path)

    def stream(self) -> None:
        """Several replies at once, long enough for all pictures."""
        ask = "Tell me about step {n} of the plan."
        for n in range(N_STREAMING):
            params = SamplingParams(max_tokens=1_900, ignore_end=True, temperature=1, seed=n)
            messages = (Message("user", ask.format(n=n)),)
            self.service.generate(Request(messages=messages, params=params))

    def start_subtasks(self) -> None:
        """One task over a few items, which the demo model knows."""
        prompt = "Tell me about {item}."
        task = Task(id=uuid.uuid4().hex, title="Travel guide", prompt=prompt, summarise=True)
        items = ["Rome", "Paris", "London", "Tokyo", "Venice", "Amsterdam", "Vienna"]
        page = self.window.pages.get("subtasks")
        assert isinstance(page, SubtasksPage)
        page.form.submitted.emit(task, items)


DEFAULT_SIZE = (1440, 900)


def main() -> None:
    """Shoot everything."""
    parser = argparse.ArgumentParser(description="Shoots every page in light and dark.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=_size, default=DEFAULT_SIZE, metavar="WxH")
    parser.add_argument("--font", type=float, default=DEFAULT_FONT_SIZE, metavar="PT")
    parser.add_argument("--fake", action="store_true", help="without the engine")
    parser.add_argument("--only", default="", help="names of pages, with commas")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in args.only.split(",") if name] or [page.name for page in PAGES]
    with tempfile.TemporaryDirectory(prefix="runahead-shots-") as home, ExitStack() as ending:
        os.environ["RUNAHEAD_HOME"] = home
        shooting = Shooting(
            args.folder, args.size, font_size=args.font, fake=args.fake, ending=ending
        )
        _shoot_all(shooting, wanted)


def _shoot_all(shooting: Shooting, wanted: list[str]) -> None:
    window = shooting.window
    shooting.shoot("first-start")
    window.opener.open_demo()
    shooting.wait_for(lambda: shooting.service.state.phase == "ready")
    shown = add_chats(shooting.conversations)
    for conversation in reversed(shown):
        window.open_conversation(conversation)
    shooting.stream()
    shooting.go_on(6)
    for name in wanted:
        window.show_page(name)
        if name == "subtasks":
            shooting.start_subtasks()
        shooting.shoot(name)
    window.show_page("chats")
    window.show_dock(True)
    shooting.go_on(3)
    shooting.shoot("chats-with-monitor")


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)x(\d+)", text)
    if match is None:
        raise argparse.ArgumentTypeError("give a size such as 1440x900")
    return int(match[1]), int(match[2])


if __name__ == "__main__":
    main()
