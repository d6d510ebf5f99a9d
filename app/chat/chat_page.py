"""ChatPage: all chats at the left, the open ones beside."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.chat.chat import Chat
from app.chat.chat_settings_panel import ChatSettingsPanel
from app.chat.chat_tabs import ChatTabs
from app.chat.chat_view import ChatView
from app.chat.chats import Chats
from app.chat.conversation_list import ConversationList
from app.chat.room import SUMMARY_SHARE, TRIMMED_SHARE, latest_turns
from app.data.conversation import Conversation
from app.data.conversations import Conversations
from app.data.data_error import DataError
from app.engine_service import EngineService
from app.language import tr
from app.settings.settings import Settings
from app.theme.theme import Theme
from app.widgets.side_splitter import SideSplitter


class ChatPage(QWidget):
    """Open tabs come back when the app is started again.

    last_title: As ChatView has it.

    Signals:
        model_wanted: A person wants to send, and no model is loaded that could answer.
        demo_chats_wanted: Four chats with the demo model, please.
    """

    model_wanted = Signal()
    demo_chats_wanted = Signal()

    def __init__(
        self,
        service: EngineService,
        conversations: Conversations,
        settings: Settings,
        theme: Theme,
        last_title: Callable[[], str] = str,
        parent: QWidget | None = None,
    ):
        super().__init__(parent)
        self._last_title = last_title
        self._service = service
        self._conversations = conversations
        self._settings = settings
        self._theme = theme
        self.chats = Chats(service, conversations, settings, self)
        self.list = ConversationList(conversations, self.chats, settings, theme)
        self.tabs = ChatTabs(theme)
        self.panel = ChatSettingsPanel(settings, theme)
        self.panel.hide()
        self._splitter = SideSplitter(self.list, self.tabs, 256, turns=False)
        self._splitter.setHandleWidth(1)
        self._splitter.setCollapsible(0, True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._splitter, 1)
        row.addWidget(self.panel)
        self._connect()
        self._open_again()

    def _connect(self) -> None:
        self.list.opened.connect(self.open_conversation)
        self.list.new_asked.connect(self.new_chat)
        self.tabs.new_asked.connect(self.new_chat)
        self.tabs.close_asked.connect(self.close_chat)
        self.tabs.current_changed.connect(self._on_current_changed)
        self.panel.changed.connect(self._on_panel_changed)
        self.panel.closed.connect(lambda: self._show_panel(False))
        self.chats.streaming_changed.connect(self._on_streaming_changed)
        self._conversations.changed.connect(self._on_conversation_changed)
        self._conversations.removed.connect(self._on_removed)
        for keys, act in (
            ("Ctrl+N", self.new_chat),
            ("Ctrl+T", self.new_chat),
            ("Ctrl+W", self._close_current),
            ("Ctrl+Tab", lambda: self.tabs.step(1)),
            ("Ctrl+PgDown", lambda: self.tabs.step(1)),
            ("Ctrl+Shift+Tab", lambda: self.tabs.step(-1)),
            ("Ctrl+PgUp", lambda: self.tabs.step(-1)),
            ("Ctrl+F", self._find),
            ("Ctrl+Shift+F", self.list.search.setFocus),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(act)

    # For others.

    def open_conversation(self, conversation_id: str, message_id: str = "") -> None:
        """Show a conversation, its tab opened if need be; scroll to a message if given.

        One that cannot be read is told as failed, and not opened.
        """
        if self.tabs.view(conversation_id) is None:
            conversation = self._conversations.get(conversation_id)
            try:
                chat = self.chats.open(conversation)
            except DataError as error:  # the others can still be used
                self._conversations.failed.emit(str(error))
                return
            view = ChatView(chat, self._theme, self._last_title)
            view.conversation_made.connect(self._on_conversation_made)
            view.room_chosen.connect(self._on_room_chosen)
            view.load_asked.connect(self._on_load_asked)
            view.settings_asked.connect(self._on_settings_asked)
            view.demo_chats_asked.connect(self.demo_chats_wanted)
            self.tabs.add(conversation_id, _title(conversation), view)
            self.tabs.set_streaming(conversation_id, self.chats.is_streaming(conversation_id))
        self.tabs.select(conversation_id)
        shown = self.tabs.view(conversation_id)
        if message_id and shown is not None:
            shown.show_message(message_id)
        self._remember()

    def new_chat(self) -> None:
        """Show an empty chat; one that is open and that nobody wrote to is used again."""
        self.panel.save_now()
        for conversation_id in self.tabs.ids:
            view = self.tabs.view(conversation_id)
            if view and self._is_unwritten(view):
                self.tabs.select(conversation_id)
                return
        made = self._conversations.create(
            system_prompt=self._settings.get("system_prompt"), preset=self._settings.get("preset")
        )
        self.open_conversation(made.id)

    def begin_chats(self, questions: Sequence[str]) -> None:
        """Ask each question in a chat of its own, all at once, and show these side by side."""
        begun = []
        for question in questions:
            self.new_chat()
            view = self.tabs.current
            assert view is not None
            view.chat.send(question)
            begun.append(view.chat.id)
        self.tabs.tile_button.setChecked(True)
        self.tabs.select(begun[0])

    def close_chat(self, conversation_id: str) -> None:
        """Close a tab; what streams there goes on. A chat that nobody wrote to is not kept."""
        view = self.tabs.view(conversation_id)
        if view is None:
            return
        self.panel.save_now()
        chat, is_unwritten = view.chat, self._is_unwritten(view)
        self.tabs.remove(conversation_id)
        self.chats.close(conversation_id)
        if is_unwritten and not chat.is_busy:
            self._conversations.remove(conversation_id)
        if not self.tabs.ids:
            self.new_chat()
        self._remember()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802, Qt's name
        """Keep drafts, settings and what is open."""
        self.panel.save_now()
        for conversation_id in self.tabs.ids:
            if view := self.tabs.view(conversation_id):
                view.save_draft()
        self._remember()
        super().closeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802, Qt's name
        """There may be more room, or less."""
        self._arrange()
        super().resizeEvent(event)

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """What is needed without the panel, which takes the chats' place if need be."""
        return QSize(self._splitter.minimumSizeHint().width(), super().minimumSizeHint().height())

    # What happens.

    def _open_again(self) -> None:
        known = {each.id for each in self._conversations.all("chat")}
        known |= {each.id for each in self._conversations.all("subtask")}
        current = self._settings.get("current_chat")
        for conversation_id in self._settings.get("open_chats"):
            if conversation_id in known:
                self.open_conversation(conversation_id)
        if current in self.tabs.ids:
            self.tabs.select(current)
        if not self.tabs.ids:
            self.new_chat()

    def _remember(self) -> None:
        current = self.tabs.current
        self._settings.set("open_chats", self.tabs.ids)
        self._settings.set("current_chat", current.chat.id if current else "")

    def _close_current(self) -> None:
        if view := self.tabs.current:
            self.close_chat(view.chat.id)

    def _is_unwritten(self, view: ChatView) -> bool:
        """Whether it has neither a message nor a draft, nor a system prompt of its own."""
        usual = self._settings.get("system_prompt")
        has_own = view.chat.conversation.system_prompt.strip() not in ("", usual.strip())
        return not (view.chat.messages or view.composer.draft.strip() or has_own)

    def _find(self) -> None:
        self._show_chats()
        if view := self.tabs.current:
            view.open_search()

    def _on_current_changed(self, conversation_id: str) -> None:
        self._show_chats()
        self.list.set_current(conversation_id)
        view = self.tabs.view(conversation_id)
        self.panel.set_chat(view.chat if view else None)

    def _on_streaming_changed(self, conversation_id: str) -> None:
        self.tabs.set_streaming(conversation_id, self.chats.is_streaming(conversation_id))

    def _on_conversation_changed(self, conversation: Conversation) -> None:
        self.tabs.set_title(conversation.id, _title(conversation))

    def _on_removed(self, conversation_id: str) -> None:
        if self.tabs.view(conversation_id) is not None:
            self.tabs.remove(conversation_id)
            self.chats.close(conversation_id)
            if not self.tabs.ids:
                self.new_chat()
            self._remember()

    def _on_conversation_made(self, conversation: Conversation) -> None:
        self._conversations.rename(
            conversation.id, tr("{title} (branch)", title=_title(conversation))
        )
        self.open_conversation(conversation.id)

    def _on_settings_asked(self) -> None:
        view = self.sender()
        assert isinstance(view, ChatView)
        is_other = view is not self.tabs.current  # a tile beside the current one
        if is_other:
            self.tabs.select(view.chat.id)
        self._show_panel(is_other or self.panel.isHidden())

    def _show_panel(self, on: bool) -> None:
        self.panel.setVisible(on)
        self._arrange()

    def _show_chats(self) -> None:
        """Whoever goes to a chat wants to see it, and not the settings in its place."""
        if self.panel.is_alone:
            self._show_panel(False)

    def _arrange(self) -> None:
        """Where panel and chats do not fit beside each other, the panel is shown alone."""
        room = self.width() - self.panel.usual_width
        alone = not self.panel.isHidden() and room < self._splitter.minimumSizeHint().width()
        self.panel.set_alone(alone)
        self._splitter.setVisible(not alone)

    def _on_panel_changed(self) -> None:
        if view := self.tabs.current:
            view.update_settings()

    def _on_load_asked(self) -> None:
        if self._service.state.phase == "failed" and self._service.state.model:
            self._service.restart()
        else:
            self.model_wanted.emit()

    def _on_room_chosen(self, what: str) -> None:
        view = self.sender()
        assert isinstance(view, ChatView)
        chat, context = (
            view.chat,
            self._service.state.info.context if self._service.state.info else 0,
        )
        share = TRIMMED_SHARE if what == "trim" else SUMMARY_SHARE
        latest = latest_turns(chat.messages, view.n_room_tokens, context * share)
        source = chat.conversation
        made = self._conversations.create(
            title=tr("{title} (continued)", title=_title(source)),
            system_prompt=source.system_prompt,
            preset=source.preset,
        )
        if what == "trim":
            for message in latest:
                self._conversations.add_message(
                    made.id, message.role, message.text, result=message.result
                )
            self.open_conversation(made.id)
            self._chat(made.id).answer()
        else:
            question = chat.messages[-1]
            self.open_conversation(made.id)
            self._chat(made.id).sum_up(chat.turns(latest[:-1]), question.text)

    def _chat(self, conversation_id: str) -> Chat:
        view = self.tabs.view(conversation_id)
        assert view is not None
        return view.chat


def _title(conversation: Conversation) -> str:
    return conversation.title or tr("New chat")
