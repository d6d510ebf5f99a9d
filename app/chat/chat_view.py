"""ChatView: one open conversation: what was said, what is being said, what to say next."""

from collections.abc import Callable

from PySide6.QtCore import QPoint, Qt, QUrl, Signal
from PySide6.QtGui import (
    QAction,
    QDesktopServices,
    QGuiApplication,
    QHideEvent,
    QKeyEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.chat.chat import Chat
from app.chat.chat_style import COLUMN
from app.chat.composer import Composer
from app.chat.context_counter import ContextCounter
from app.chat.empty_chat import EmptyChat
from app.chat.find_bar import FindBar
from app.chat.room_choice import RoomChoice
from app.chat.sampling_choice import chosen
from app.chat.thinking import answer_of
from app.chat.transcript_view import TranscriptView
from app.data.conversation import Message
from app.language import tr
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, Theme
from app.widgets.announce import announce
from app.widgets.ask import ask
from app.widgets.banner import Banner
from app.widgets.labels import ElidedLabel, set_kind
from app.widgets.toast import KEPT_CLEAR
from engine.engine_state import EngineState

_LEAST = 80  # pixels of a transcript, less than an empty chat: four fit in any window
_MENU = (
    ("copy", "Copy message"),
    ("edit", "Edit and send again"),
    ("regenerate", "Write it again"),
    ("branch", "Branch into a new chat from here"),
    ("delete", "Delete from here on…"),
)


class ChatView(QFrame):
    """While it is hidden, a reply's text is only kept; it is laid out when it is shown.

    last_title: What the model is called that was loaded last; "" when none is known.

    Signals:
        conversation_made: A branch was made and shall be opened. arg: Conversation.
        room_chosen: How to go on when the context is full. arg: "summary" or "trim".
        load_asked: A model shall be loaded.
        settings_asked: The chat's settings shall be shown or hidden.
        demo_chats_asked: Four chats with the demo model, please.
    """

    conversation_made = Signal(object)
    room_chosen = Signal(str)
    load_asked = Signal()
    settings_asked = Signal()
    demo_chats_asked = Signal()

    def __init__(self, chat: Chat, theme: Theme, last_title: Callable[[], str] = str):
        super().__init__()
        self._last_title = last_title
        set_kind(self, "page")
        self.chat = chat
        self._theme = theme
        self._is_stale = True  # rows are behind the chat, as the view was hidden
        self._is_loading = chat.service.state.phase in ("starting", "loading")
        self._has_to_wait = False  # as the banner says: for the end of a reply
        self.n_room_tokens = 0  # of the prompt that did not fit
        self.title = ElidedLabel("", "heading")
        self.title.setContentsMargins(SPACE_L, SPACE_S, SPACE_L, SPACE_S)
        self.title.hide()
        self.transcript = TranscriptView(theme)
        self.find_bar = FindBar(self.transcript, theme)
        self.composer = Composer(chat.settings, theme)
        self.banner = Banner(theme)
        self.banner.returns_focus_to = self.composer.field
        self.room = RoomChoice(theme)
        self._empty = EmptyChat(theme)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.transcript)
        self.counter = ContextCounter(chat, self)
        self._lay_out()
        self._connect()
        self.composer.set_text(chat.conversation.draft)
        self.update_settings()
        self._empty.show_state(chat.service.state, chat.settings.get("last_model"))
        self._show_page()

    def _lay_out(self) -> None:
        lower = QWidget()
        lower.setObjectName(KEPT_CLEAR)
        lower.setMaximumWidth(COLUMN + 2 * SPACE_L)
        column = QVBoxLayout(lower)
        column.setContentsMargins(SPACE_L, 0, SPACE_L, SPACE_M)
        column.setSpacing(SPACE_S)
        for widget in (self.banner, self.room, self.composer):
            column.addWidget(widget)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(lower, 1000)
        row.addStretch(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.title)
        whole.addWidget(self.find_bar)
        whole.addWidget(self._stack, 1)
        whole.addLayout(row)

    def _connect(self) -> None:
        chat, composer, transcript = self.chat, self.composer, self.transcript
        chat.path_changed.connect(self._on_path_changed)
        chat.message_added.connect(self._on_message_added)
        chat.message_changed.connect(self._on_message_changed)
        chat.busy_changed.connect(self._on_busy_changed)
        chat.accepted.connect(self._on_accepted)
        chat.refused.connect(self._on_refused)
        chat.room_needed.connect(self._on_room_needed)
        chat.service.state_changed.connect(self._on_state_changed)
        chat.settings.changed.connect(self._on_setting_changed)
        self._empty.second_acted.connect(self.demo_chats_asked)
        composer.sent.connect(self._on_sent)
        composer.stopped.connect(chat.stop)
        composer.edited.connect(self._on_edited)
        composer.settings_asked.connect(self.settings_asked)
        composer.last_asked.connect(self._on_last_asked)
        transcript.action_asked.connect(self.act)
        transcript.link_opened.connect(self._on_link_opened)
        transcript.context_asked.connect(self._on_context_asked)
        transcript.row_shown.connect(self._on_row_shown)
        self.find_bar.closed.connect(composer.field.setFocus)
        self.room.chosen.connect(self._on_room_chosen)
        self.counter.counted.connect(composer.meter.set_tokens)

    # For the page.

    def show_message(self, message_id: str) -> None:
        """Scroll to a message, which may be on another path than the one that is shown."""
        self.chat.show_path_of(message_id)
        self._catch_up()
        self.transcript.scroll_to(message_id)

    def open_search(self) -> None:
        """Look for words in what was said."""
        if self.chat.messages:
            self.find_bar.open_search()

    def update_settings(self) -> None:
        """The chat's settings have changed."""
        conversation = self.chat.conversation
        preset = chosen(self.chat.settings, conversation.preset)
        has_prompt = bool(conversation.system_prompt.strip())
        self.composer.set_preset(preset.name, has_prompt=has_prompt)
        self.counter.recount()

    def end(self) -> None:
        """Its tab is closed."""
        self.save_draft()
        self.counter.end()

    def save_draft(self) -> None:
        """Keep what has been written and not sent."""
        conversations = self.chat.conversations
        try:
            before = conversations.get(self.chat.id).draft
        except KeyError:
            return  # the conversation was removed
        if self.composer.draft != before:
            conversations.update(self.chat.id, draft=self.composer.draft)

    def act(self, message_id: str, action: str) -> None:
        """Do what a button of a message stands for."""
        chat = self.chat
        if self.transcript.rows.index_of(message_id) < 0:
            return  # a menu was open while it was deleted
        message = chat.conversations.message(message_id)
        if action == "copy":
            index = self.transcript.rows.index_of(message_id)
            QGuiApplication.clipboard().setText(self.transcript.rows.row(index).copied())
        elif action == "edit":
            self.composer.begin_editing(message_id, message.text)
        elif action == "regenerate":
            self.banner.hide()
            chat.regenerate(message_id)
        elif action == "branch":
            self.conversation_made.emit(chat.conversations.branch(message_id))
        elif action == "delete":
            self._delete(message)
        elif action in ("previous", "next"):
            chat.show_version(message_id, -1 if action == "previous" else 1)

    # What the chat says.

    def _catch_up(self) -> None:
        if self._is_stale:
            self._is_stale = False
            rows = self.transcript.rows
            rows.live = self.chat.live
            rows.is_busy = self.chat.is_busy
            rows.shows_thinking = self.chat.settings.get("show_thinking")
            rows.set_messages(self.chat.messages)
            rows.refresh_all()
            self.transcript.update_rows()

    def _show_page(self) -> None:
        self._stack.setCurrentWidget(self.transcript if self.chat.messages else self._empty)
        self._stack.setMinimumHeight(_LEAST if self.chat.messages else 0)

    def _on_path_changed(self) -> None:
        self.room.hide()  # it is about a question at the end of what was shown
        self._is_stale = True
        self._show_page()
        if self.isVisible():
            self._catch_up()

    def _on_message_added(self, message: Message) -> None:
        self._show_page()
        if not self.isVisible():
            self._is_stale = True
            return
        rows = self.transcript.rows
        rows.append(message)
        if len(rows.messages) > 1:
            rows.refresh(rows.messages[-2].id)
        if message.role == "user":
            self.transcript.is_at_end = True
        self.transcript.update_rows()

    def _on_message_changed(self, message_id: str) -> None:
        if not self.isVisible():
            self._is_stale = True
            return
        rows = self.transcript.rows
        index = rows.index_of(message_id)
        if index >= 0:
            rows.change(self.chat.messages[index])
            self.transcript.update_rows()

    def _on_busy_changed(self) -> None:
        if self._has_to_wait and not self.chat.is_streaming:
            self._has_to_wait = False
            self.banner.hide()
        self.composer.set_streaming(self.chat.is_streaming)
        rows = self.transcript.rows
        rows.is_busy = self.chat.is_busy
        if self.isVisible():
            rows.refresh_all()
            self.transcript.update_rows()
            if not self.chat.is_busy and self.chat.messages:
                announce(self.transcript, answer_of(self.chat.messages[-1].text))
        else:
            self._is_stale = True

    def _on_accepted(self) -> None:
        self.banner.hide()
        self.room.hide()
        # What waited for space on the disk may be accepted while something else is being written.
        if self.composer.text.strip() == self.chat.messages[-1].text.strip():
            self.composer.clear()

    def _on_refused(self, why: str) -> None:
        state = self.chat.service.state
        self._has_to_wait = self.chat.is_streaming
        if state.phase == "ready":
            self.banner.tell(tr("Not sent"), why, kind="warning")
        elif state.phase in ("starting", "loading"):
            self.banner.tell(
                tr("The model is still loading"), tr("Your text stays. Send it when it is ready.")
            )
        else:
            self._offer_to_load(state)

    def _offer_to_load(self, state: EngineState) -> None:
        name = state.model.title if state.model else self._last_title()
        self.banner.tell(
            tr("No model is loaded"),
            tr("Your text stays. Load a model, then send it."),
            action=tr("Load {name}", name=name) if name else tr("Choose a model"),
            on_action=self.load_asked.emit,
        )

    def _on_room_needed(self, n_tokens: int, context: int) -> None:
        self.n_room_tokens = n_tokens
        self.room.ask(n_tokens, context)

    def _on_room_chosen(self, what: str) -> None:
        if what == "stop":
            self.composer.field.setFocus()
        else:
            self.room_chosen.emit(what)

    def _on_state_changed(self, state: EngineState) -> None:
        was_loading, self._is_loading = self._is_loading, state.phase in ("starting", "loading")
        if state.phase == "ready" or (self._is_loading and not was_loading):
            self.banner.hide()
        self._empty.show_state(state, self.chat.settings.get("last_model"))

    def _on_setting_changed(self, name: str) -> None:
        if name in ("presets", "preset"):
            self.update_settings()
        elif name == "show_thinking":
            self._is_stale = True
            if self.isVisible():
                self._catch_up()

    # What a person does.

    def _on_sent(self, text: str, replaces: str) -> None:
        self.transcript.is_at_end = True
        if replaces:
            self.chat.edit(replaces, text)
        else:
            self.chat.send(text)

    def _on_edited(self, text: str) -> None:
        self.counter.set_draft(text)
        self.save_draft()

    def _on_last_asked(self) -> None:
        questions = [each for each in self.chat.messages if each.role == "user"]
        if questions and not self.chat.is_busy:
            self.composer.begin_editing(questions[-1].id, questions[-1].text)

    def _on_link_opened(self, address: str) -> None:
        QDesktopServices.openUrl(QUrl(address))

    def _on_row_shown(self, message_id: str) -> None:
        rows = self.transcript.rows
        row = rows.row(rows.index_of(message_id))
        siblings = [each.id for each in self.chat.conversations.siblings(message_id)]
        row.actions.n_versions = len(siblings)
        row.actions.version = siblings.index(message_id) + 1

    def _on_context_asked(self, message_id: str, place: QPoint) -> None:
        self.make_menu(message_id).popup(place)

    def make_menu(self, message_id: str) -> QMenu:
        """What can be done with a message."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if selected := self.transcript.selected_text():
            copy = QAction(tr("Copy selected text"), menu)
            copy.triggered.connect(lambda: QGuiApplication.clipboard().setText(selected))
            menu.addAction(copy)
            menu.addSeparator()
        rows = self.transcript.rows
        offered = {each[0] for each in rows.row(rows.index_of(message_id)).actions.offered()}
        for action, text in _MENU:
            if action in offered:
                entry = QAction(tr(text), menu)
                entry.triggered.connect(lambda _=False, what=action: self.act(message_id, what))
                menu.addAction(entry)
        return menu

    def _delete(self, message: Message) -> None:
        ids = [each.id for each in self.chat.messages]
        n_after = len(ids) - 1 - ids.index(message.id) if message.id in ids else 0
        text = tr("This cannot be undone.")
        if n_after:
            text = tr("The {n} messages after it go too. This cannot be undone.", n=n_after)
        ask(
            self,
            tr("Delete this message?"),
            text,
            tr("Delete"),
            lambda _: self.chat.remove_message(message.id),
            danger=True,
        )

    # Qt's own calls.

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802, Qt's name
        """Esc ends the reply."""
        if event.key() == Qt.Key.Key_Escape and self.chat.is_streaming:
            self.chat.stop()
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Catch up with what came while it was hidden."""
        self._catch_up()
        self.composer.set_streaming(self.chat.is_streaming)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802, Qt's name
        """A draft is not left unsaved."""
        self.save_draft()
