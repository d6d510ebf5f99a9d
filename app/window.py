"""MainWindow: rail, header, banners, pages and status strip, and what is remembered of them.

The order of reading is the order in which a start runs: parts, connections, what was remembered.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDesktopServices, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QVBoxLayout, QWidget

from app.engine_service import EngineService
from app.language import tr
from app.reply import Reply
from app.shell.banner_area import BannerArea
from app.shell.demo_chats import DemoChats
from app.shell.drop_target import DropTarget
from app.shell.header import Header
from app.shell.model_chooser import ModelChooser
from app.shell.model_opener import ModelOpener
from app.shell.navigation_rail import NavigationRail
from app.shell.page_area import PageArea
from app.shell.pages import PAGES, Pages
from app.shell.status_strip import StatusStrip
from app.theme.theme import Theme
from app.widgets.ask_file import ask_files
from app.widgets.toast import Toast

if TYPE_CHECKING:
    from app.data.conversations import Conversations
    from app.models.library import ModelLibrary
    from app.settings.settings import Settings

_LEAST = (860, 560)
_FRAME = (16, 48)  # what the system's frame around the window may take
# Settings that a model may have of its own, and their names in ModelChoices.
_CHOICES = {"cache_fraction": "cache", "link": "link"}


class MainWindow(QMainWindow):
    """Everything that is shown. It owns no data: closing it loses nothing.

    Signals:
        closed: The window has remembered what it wants to, and its pages are closed.

    Attributes:
        restarts: It was closed to be opened again.
    """

    closed = Signal()

    def __init__(
        self,
        service: EngineService,
        conversations: "Conversations",
        library: "ModelLibrary",
        settings: "Settings",
        theme: Theme,
    ) -> None:
        super().__init__()
        self.setWindowTitle("Runahead")
        self._service, self._library, self._settings, self._theme = (
            *(service, library),
            *(settings, theme),
        )
        self.restarts = False
        self._closed = False
        self._n_streaming = 0
        self._unsaved = ""  # why something of the conversations is not on disk yet
        self.opener = ModelOpener(service, library, settings, self)
        self.demo_chats = DemoChats(service, self.opener)
        self.pages = Pages(service, conversations, library, settings, theme, self.opener)
        self.rail = NavigationRail([(p.name, p.text, p.icon) for p in PAGES], theme)
        self.header = Header(ModelChooser(service, library, self.opener, theme), theme)
        self.banners = BannerArea(service, theme)
        self.area = PageArea(self.pages)
        self.status = StatusStrip(service, theme)
        self._lay_out()
        self._drop_target = DropTarget(self, self.add_models)
        self._connect()
        self._add_shortcuts()
        self._recall()
        for sentence in (*settings.notices, *library.notices):
            self.banners.notice(sentence)

    # What may be asked of the window.

    @property
    def page(self) -> str:
        """The name of the page that is shown."""
        return self.area.page

    def show_page(self, name: str) -> None:
        """Go to a page; it is made when it is shown for the first time."""
        self.area.show_page(name)
        self.rail.show_chosen(name)
        self._open_key.setEnabled(name != "models")  # that page has the key itself

    def show_dock(self, on: bool) -> None:
        """Show the monitor beside the page, or not."""
        self.header.dock_button.setChecked(on)
        self.area.show_dock(on)

    def add_models(self, paths: Sequence[Path]) -> None:
        """Add model files and folders to the library, on the page that tells what came of it."""
        self.show_page("models")
        self.pages.models.add_paths(list(paths))

    def come_forward(self, files: Sequence[Path] = ()) -> None:
        """Show the window before all others; model files are added."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()
        if files:
            self.add_models(files)

    def choose_models(self) -> None:
        """Ask for a model file."""
        ask_files(
            self,
            self._settings,
            tr("Open a model"),
            self.add_models,
            place="models",
            name_filter=tr("GGUF models (*.gguf)"),
        )

    def open_conversation(self, conversation: str) -> None:
        """Show a conversation on the page of chats."""
        chats = self.pages.chats  # where there is one to show, it takes the first start's place
        self.show_page("chats")
        chats.open_conversation(conversation)

    def restart(self) -> None:
        """Close the window and open it again."""
        self.restarts = True
        self.close()

    def tell_of_report(self, path: str, *, of_last_run: bool = False) -> None:
        """Say that a crash report was kept, and open its folder when asked."""
        text = (
            tr("Runahead ended unexpectedly the last time. A report was kept on this computer.")
            if of_last_run
            else tr("Something went wrong inside Runahead. A report was kept on this computer.")
        )
        folder = QUrl.fromLocalFile(str(Path(path).parent))
        self._toast(text, tr("Open folder"), lambda: QDesktopServices.openUrl(folder))

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802, Qt's name
        """Nothing is asked: conversations are saved, replies are kept as far as they came."""
        event.accept()
        if self._closed:
            return
        self._closed = True
        self._remember()
        self._service.close()
        self.pages.close()
        self.closed.emit()

    # Parts.

    def _lay_out(self) -> None:
        column = QVBoxLayout()
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self.banners)
        column.addWidget(self.area, 1)
        column.addWidget(self.status)
        centre = _Centre()
        row = QHBoxLayout(centre)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.rail)
        row.addLayout(column, 1)
        self.setCentralWidget(centre)

    def _connect(self) -> None:
        self.rail.chosen.connect(self.show_page)
        self.header.dock_toggled.connect(self.area.show_dock)
        self.header.chooser.manage_wanted.connect(lambda: self.show_page("models"))
        self.header.chooser.file_wanted.connect(self.choose_models)
        self.pages.file_wanted.connect(self.choose_models)
        self.pages.conversation_wanted.connect(self.open_conversation)
        self.pages.model_wanted.connect(self._on_model_wanted)
        self.pages.restart_wanted.connect(self.restart)
        self.pages.demo_chats_wanted.connect(self.demo_chats.start)
        self.demo_chats.ready.connect(self._on_demo_chats_ready)
        self.pages.chats_replaced.connect(self.area.refresh)
        self.opener.demo_ended.connect(self._on_demo_ended)
        self._service.reply_started.connect(self._on_reply_started)
        self._service.policy_refused.connect(self._on_policy_refused)
        self._settings.changed.connect(self._on_setting_changed)
        for source in (self._settings, self._library, self.pages.conversations):
            source.failed.connect(self._on_failed)
        self.pages.conversations.store.failed.connect(self._on_unsaved)
        self.pages.conversations.recovered.connect(lambda: self.banners.withdraw(self._unsaved))

    def _add_shortcuts(self) -> None:
        for number, page in enumerate(PAGES, 1):
            self._shortcut(f"Ctrl+{number}", partial(self.show_page, page.name))
        self._shortcut("Ctrl+,", lambda: self.show_page("settings"))
        self._shortcut("Ctrl+L", self.header.chooser.open_menu)
        self._open_key = self._shortcut("Ctrl+O", self.choose_models)
        self._shortcut("Ctrl+Q", self.close)
        self._shortcut("F11", self._toggle_full_screen)

    def _shortcut(self, keys: str, act: Callable[[], object]) -> QShortcut:
        shortcut = QShortcut(QKeySequence(keys), self)
        shortcut.activated.connect(act)
        return shortcut

    def _toggle_full_screen(self) -> None:
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def _toast(self, text: str, action: str = "", act: Callable[[], object] | None = None) -> None:
        Toast.show_over(self, text, action, act)

    # What was remembered.

    def _recall(self) -> None:
        geometry = QByteArray.fromBase64(self._settings.get("window_geometry").encode())
        if not self.restoreGeometry(geometry):
            self.resize(1280, 820)
        known = {page.name for page in PAGES}
        name = self._settings.get("last_page")
        self.area.recall(self._settings.get("window_state"))
        self.header.dock_button.setChecked(self.area.dock_on)
        self.show_page(name if name in known else PAGES[0].name)

    def _remember(self) -> None:
        geometry = self.saveGeometry().toBase64().toStdString()
        self._settings.set("window_geometry", geometry)
        self._settings.set("window_state", self.area.remembered())
        self._settings.set("last_page", self.page)

    # What happens elsewhere.

    def _on_setting_changed(self, name: str) -> None:
        settings, service = self._settings, self._service
        if name == "theme":
            self._theme.set_mode(settings.get("theme"))
        elif name == "font_size":
            self._theme.set_font_size(settings.get("font_size"))
        elif service.state.phase != "ready":
            return  # the next load takes what is set then
        elif self._is_own(name):
            return
        elif name == "cache_fraction" and settings.cache != service.cache:
            service.set_cache_size(settings.cache)
        elif name == "policy":
            service.set_policy(settings.get("policy"))
        elif name == "link" and settings.link != service.link:
            service.set_link(settings.link)

    def _on_policy_refused(self, policy: str) -> None:
        if self._settings.get("policy") == policy:  # else every load would fail
            self._settings.set("policy", self._service.policy)

    def _is_own(self, setting: str) -> bool:
        """Whether the open model does not go by the settings in that."""
        model, choice = self._service.state.model, _CHOICES.get(setting)
        if model is None or choice is None:
            return False
        return self._library.has_own(Path(model.path), choice)

    def _on_reply_started(self, reply: Reply) -> None:
        self._n_streaming += 1
        reply.finished.connect(self._on_reply_finished)
        self.rail.buttons["monitor"].set_busy(True)

    def _on_reply_finished(self) -> None:
        self._n_streaming -= 1
        self.rail.buttons["monitor"].set_busy(self._n_streaming > 0)

    def _on_model_wanted(self) -> None:
        if last := self.opener.last_model:
            self.opener.open(last)
        else:
            self.header.chooser.open_menu()

    def _on_demo_chats_ready(self, questions: list[str]) -> None:
        self.show_page("chats")
        self.pages.chats.begin_chats(questions)

    def _on_demo_ended(self, why: str) -> None:
        if why and not self.pages.shows_first_start:  # which says it by itself
            self.banners.notice(tr("The demo model cannot be opened"), why, kind="danger")

    def _on_unsaved(self, sentence: str) -> None:
        self._unsaved = sentence

    def _on_failed(self, sentence: str) -> None:
        self.banners.notice(sentence, kind="danger")


class _Centre(QWidget):
    """As large as its parts need, which large letters make larger than the screen at worst."""

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Of the window too."""
        least = super().minimumSizeHint().expandedTo(QSize(*_LEAST))
        return least.boundedTo(self.screen().availableSize() - QSize(*_FRAME))
