"""RealApp: the whole app as `app.start` puts it together, driven through its widgets by a test.

Nothing is faked: the engine is a process of its own. Where the data folder is, RUNAHEAD_HOME says.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app import folders
from app.chat.chat_page import ChatPage
from app.chat.chat_view import ChatView
from app.data.conversation import Message
from app.data.conversations import Conversations
from app.engine_service import EngineService
from app.models.library import ModelLibrary
from app.settings.sampling_preset import SamplingPreset
from app.settings.settings import Settings
from app.theme.theme import Theme
from app.window import MainWindow
from engine.client import EngineClient
from engine.jobs import JobRunner
from engine.sampling import SamplingParams

MOST_S = 120.0


def wait_until(condition: Callable[[], object], what: str, seconds: float = MOST_S) -> None:
    """Let the app run until something holds; fails when it does not come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for this: {what}")
        QTest.qWait(5)


def wait(seconds: float) -> None:
    """Let the app run for a while."""
    QTest.qWait(round(seconds * 1000))


class RealApp:
    """Open from its making to `close`.

    REQUIRES: there is a QApplication.
    """

    def __init__(self) -> None:
        self.settings = Settings(folders.settings_file())
        self.theme = Theme(self.settings.get("theme"), self.settings.get("font_size"))
        self._look = _Look()
        self.theme.dress(self._look.app)
        self.conversations = Conversations(folders.database())
        self.library = ModelLibrary(folders.library())
        self.client = EngineClient()
        self.service = EngineService(self.client, JobRunner())
        self.window = MainWindow(
            self.service, self.conversations, self.library, self.settings, self.theme
        )
        self._closed = False
        self.window.show()
        self.library.look()

    def close(self) -> None:
        """Close the window as a person does; afterwards nothing of the app runs."""
        if self._closed:
            return
        self._closed = True
        self.window.close()
        self.service.close()
        self.library.close()
        self.conversations.close()
        self.settings.close()
        self.window.deleteLater()
        QTest.qWait(0)
        self._look.put_back()

    # The model.

    def add_and_load(self, model: Path) -> None:
        """As dropping the file on the window and pressing Load."""
        self.window.add_models([model])
        wait_until(lambda: self.library.by_path(model), "the model is in the library")
        self.load(model)

    def load(self, model: Path) -> None:
        """Load a model of the library."""
        known = self.library.by_path(model)
        assert known
        self.window.opener.open(known)
        self.wait_ready()

    def wait_ready(self) -> None:
        """Until prompts are taken."""
        wait_until(lambda: self.service.state.phase in ("ready", "failed"), "the model is loaded")
        assert self.service.state.phase == "ready", self.service.state.reason

    @property
    def engine_pid(self) -> int:
        """The process that computes."""
        pids = engine_pids()
        assert len(pids) == 1, pids
        return pids[0]

    # Chats.

    def use_preset(self, **params: object) -> None:
        """How new chats choose words: the same each time, and no end before max_tokens."""
        values = {"seed": 7, "temperature": 1.0, "ignore_end": True, **params}
        preset = SamplingPreset("Test", SamplingParams(**values), fixed_seed=True)  # type: ignore[arg-type]
        self.settings.set("presets", [preset])
        self.settings.set("preset", "Test")

    @property
    def chats(self) -> ChatPage:
        """The page of chats."""
        return self.window.pages.chats

    def ask_in_new_tab(self, question: str) -> ChatView:
        """Begin a chat."""
        self.window.show_page("chats")
        self.chats.new_chat()
        view = self.chats.tabs.current
        assert view
        self.ask(view, question)
        return view

    def view(self, conversation: str) -> ChatView:
        """The view of an open chat."""
        view = self.chats.tabs.view(conversation)
        assert view
        return view

    def ask(self, view: ChatView, question: str) -> None:
        """Write and send; returns when the reply has begun."""
        self.chats.tabs.select(view.chat.id)
        n_before = len(view.chat.messages)
        view.composer.set_text(question)
        view.composer.button.click()
        wait_until(lambda: len(view.chat.messages) >= n_before + 2, f"{question!r} is answered")
        assert view.composer.text == ""

    def messages(self, conversation: str) -> list[Message]:
        """What is shown of a conversation."""
        return self.conversations.path(conversation)


class _Look:
    """How the application looks before it is dressed: a sheet would slow other tests down."""

    def __init__(self) -> None:
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self.app = app
        self._style, self._font, self._palette = app.style().name(), app.font(), app.palette()

    def put_back(self) -> None:
        self.app.setStyleSheet("")
        self.app.setStyle(self._style)
        self.app.setFont(self._font)
        self.app.setPalette(self._palette)


def engine_pids() -> list[int]:
    """Engines that this process has started and that run."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            pid = int(folder.name)
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue  # no process, or one that has just ended
        if parent == os.getpid() and b"engine.host" in words and is_alive(pid):
            found.append(pid)
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be asked for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return _takes_signals(pid) if not Path("/proc/self").is_dir() else False


def _takes_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
