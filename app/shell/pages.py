"""Pages: the window's pages, each made when it is shown for the first time."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.engine_service import EngineService
from app.shell.model_opener import ModelOpener
from app.theme.theme import Theme

if TYPE_CHECKING:
    from app.chat.chat_page import ChatPage
    from app.data.conversations import Conversations
    from app.models.library import ModelLibrary
    from app.models.models_page import ModelsPage
    from app.monitor.monitor_page import MonitorPage
    from app.settings.settings import Settings
    from app.settings.settings_page import SettingsPage
    from app.subtasks.subtasks_page import SubtasksPage


class Page(msgspec.Struct, frozen=True):
    """A page's name in the code, its text and its icon."""

    name: str
    text: str
    icon: str


PAGES = (
    Page("chats", "Chats", "chat"),
    Page("subtasks", "Subtasks", "subtasks"),
    Page("monitor", "Monitor", "monitor"),
    Page("models", "Models", "models"),
    Page("runs", "Runs", "runs"),
    Page("settings", "Settings", "settings"),
)


class Pages(QObject):
    """Pages are imported late: the first window shall not wait for those that it does not show.

    Signals:
        file_wanted: A person has a GGUF to open.
        model_wanted: A person wants an answer, and no model is loaded: the one that was loaded last
            is offered to them.
        demo_chats_wanted: Four chats with the demo model, please.
        conversation_wanted: Show a conversation among the chats. arg: its id.
        chats_replaced: The first start is over: `get("chats")` is another widget.
        restart_wanted: Quit and start again.
    """

    file_wanted = Signal()
    model_wanted = Signal()
    demo_chats_wanted = Signal()
    conversation_wanted = Signal(str)
    chats_replaced = Signal()
    restart_wanted = Signal()

    def __init__(
        self,
        service: EngineService,
        conversations: "Conversations",
        library: "ModelLibrary",
        settings: "Settings",
        theme: Theme,
        opener: ModelOpener,
    ) -> None:
        super().__init__()
        self.conversations = conversations
        self._service, self._library = service, library
        self._settings, self._theme, self._opener = settings, theme, opener
        self._made: dict[str, QWidget] = {}
        self._first_start: QWidget | None = None
        self._makers: dict[str, Callable[[], QWidget]] = {
            "chats": self._make_chats,
            "subtasks": self._make_subtasks,
            "monitor": self._make_monitor,
            "models": self._make_models,
            "runs": self._make_runs,
            "settings": self._make_settings,
        }
        library.added.connect(self._on_model_added)

    def get(self, name: str) -> QWidget:
        """A page; for chats the first start, as long as there is nothing to chat with."""
        if name == "chats" and self._is_new():
            if self._first_start is None:
                self._first_start = self._make_first_start()
            return self._first_start
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    @property
    def chats(self) -> "ChatPage":
        """Where conversations are shown."""
        if "chats" not in self._made:
            self._made["chats"] = self._make_chats()
        return self._made["chats"]  # type: ignore[return-value]

    @property
    def subtasks(self) -> "SubtasksPage":
        """Where tasks are run over items."""
        return self.get("subtasks")  # type: ignore[return-value]

    @property
    def models(self) -> "ModelsPage":
        """Where models are added."""
        return self.get("models")  # type: ignore[return-value]

    @property
    def settings(self) -> "SettingsPage":
        """Where options are changed."""
        return self.get("settings")  # type: ignore[return-value]

    @property
    def monitor(self) -> "MonitorPage":
        """Page and dock at once: there is one of it, and it moves."""
        return self.get("monitor")  # type: ignore[return-value]

    @property
    def shows_first_start(self) -> bool:
        """Whether a new user sees the first start now."""
        return self._first_start is not None and self._first_start.isVisible()

    def close(self) -> None:
        """Close every page that was made, so that each ends what it has begun."""
        for page in self._made.values():
            page.close()
        if "settings" in self._made:
            self.settings.shut_down()

    def _is_new(self) -> bool:
        return not ("chats" in self._made or self._library.all() or self.conversations.all())

    def _on_model_added(self) -> None:
        if self._first_start is not None:
            self.chats_replaced.emit()
            self._first_start.deleteLater()
            self._first_start = None

    def _on_stop_wanted(self, conversation: str) -> None:
        if "subtasks" in self._made:
            self.subtasks.runs.stop_in(conversation)

    def _make_first_start(self) -> QWidget:
        from app.shell.first_start import FirstStart

        page = FirstStart(self._opener, self._theme)
        page.file_wanted.connect(self.file_wanted)
        page.demo_chats_wanted.connect(self.demo_chats_wanted)
        return page

    def _make_chats(self) -> QWidget:
        from app.chat.chat_page import ChatPage

        page = ChatPage(
            self._service, self.conversations, self._settings, self._theme, self._last_title
        )
        page.model_wanted.connect(self.model_wanted)
        page.chats.stop_wanted.connect(self._on_stop_wanted)
        page.demo_chats_wanted.connect(self.demo_chats_wanted)
        return page

    def _last_title(self) -> str:
        last = self._opener.last_model
        return last.title if last else ""

    def _make_subtasks(self) -> QWidget:
        from app.subtasks.subtasks_page import SubtasksPage

        page = SubtasksPage(self._service, self.conversations, self._settings, self._theme)
        page.conversation_opened.connect(self.conversation_wanted)
        return page

    def _make_monitor(self) -> QWidget:
        from app.monitor.monitor_page import MonitorPage

        return MonitorPage(self._service, self._library, self._settings, self._theme)

    def _make_models(self) -> QWidget:
        from app.models.models_page import ModelsPage

        return ModelsPage(self._service, self._library, self._settings, self._theme)

    def _make_runs(self) -> QWidget:
        from app.runs.runs_page import RunsPage

        return RunsPage(self._settings, self._theme)

    def _make_settings(self) -> QWidget:
        from app.settings.settings_page import SettingsPage

        page = SettingsPage(self._settings, self._theme)
        page.restart_wanted.connect(self.restart_wanted)
        return page
