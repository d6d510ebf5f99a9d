"""ConversationList: all chats beside the open ones: search, new, rename, duplicate, delete."""

from pathlib import Path

from PySide6.QtCore import QEvent, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QListView,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from app.chat.chats import Chats
from app.chat.conversation_delegate import ConversationDelegate
from app.chat.conversation_model import ID_ROLE, MESSAGE_ROLE, ConversationModel
from app.chat.export import as_markdown, file_name
from app.data.conversation import Message, SearchHit
from app.data.conversations import Conversations
from app.data.data_error import DataError
from app.language import tr
from app.settings.settings import Settings
from app.theme.theme import SPACE_M, SPACE_S, Theme
from app.widgets.ask_file import ask_where_to_save
from app.widgets.icon_button import IconButton
from app.widgets.labels import label, set_kind
from app.widgets.search_field import SearchField
from app.widgets.toast import Toast
from engine.atomic_file import write_atomically


class ConversationList(QFrame):
    """A search shows what it has found until it is cleared.

    Signals:
        opened: A conversation shall be shown. args: id, message id to scroll to or "".
        new_asked: A new chat shall be begun.
    """

    opened = Signal(str, str)
    new_asked = Signal()

    def __init__(
        self,
        conversations: Conversations,
        chats: Chats,
        settings: Settings,
        theme: Theme,
        parent: QWidget | None = None,
    ):
        super().__init__(parent)
        set_kind(self, "panel")
        self._conversations = conversations
        self._settings = settings
        self._current = ""
        self.search = SearchField(theme, tr("Search chats"))
        self.new_button = IconButton(theme, "chat-add", tr("New chat (Ctrl+N)"), size=20)
        self.model = ConversationModel(conversations, chats)
        self.model.setParent(self)
        self._delegate = ConversationDelegate(theme)
        self.view = _View(self._delegate, self)
        self.view.setModel(self.model)
        self.view.setItemDelegate(self._delegate)
        self._nothing = label("", "muted", wrap=True)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._nothing.hide()
        row = QHBoxLayout()
        row.setContentsMargins(SPACE_M, SPACE_M, SPACE_S, 0)
        row.setSpacing(SPACE_S)
        row.addWidget(self.search, 1)
        # Unaligned, a small button would hold the whole row down to its own height.
        row.addWidget(self.new_button, alignment=Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_S)
        column.addLayout(row)
        column.addWidget(self._nothing)
        column.addWidget(self.view, 1)
        self.new_button.clicked.connect(self.new_asked)
        self.search.searched.connect(self._on_searched)
        self.view.clicked.connect(self._on_chosen)
        self.view.activated.connect(self._on_chosen)
        self.view.menu_asked.connect(self._on_menu_asked)
        self.view.removal_asked.connect(self._on_removal_asked)
        self.model.modelReset.connect(self._on_reset)
        self._delegate.editing_changed.connect(self.model.hold)
        theme.changed.connect(self.view.viewport().update)

    def set_current(self, conversation_id: str) -> None:
        """Mark the conversation that is shown."""
        self._current = conversation_id
        row = self.model.row_of(conversation_id)
        if row >= 0:
            self.view.setCurrentIndex(self.model.index(row))
        else:
            self.view.clearSelection()

    def rename(self, conversation_id: str) -> None:
        """Have its title edited in place."""
        row = self.model.row_of(conversation_id)
        if row >= 0:
            self.view.edit(self.model.index(row))

    def remove(self, conversation_id: str) -> None:
        """Delete it, with a chance to undo."""
        title = self._conversations.get(conversation_id).title or tr("New chat")
        self._conversations.remove(conversation_id)
        Toast.show_over(
            self,
            tr("“{title}” was deleted", title=title if len(title) < 40 else title[:39] + "…"),
            tr("Undo"),
            lambda: self._restore(conversation_id),
        )

    def duplicate(self, conversation_id: str) -> None:
        """Make a copy and show it."""
        path = self._path(conversation_id)
        if path is None:
            return
        source = self._conversations.get(conversation_id)
        if path:
            copy = self._conversations.branch(path[-1].id)
        else:
            copy = self._conversations.create(
                system_prompt=source.system_prompt, preset=source.preset
            )
        if source.title:
            self._conversations.rename(copy.id, tr("{title} (copy)", title=source.title))
        self.opened.emit(copy.id, "")

    def make_menu(self, conversation_id: str) -> QMenu:
        """What can be done with a conversation."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, act in (
            (tr("Rename"), self.rename),
            (tr("Duplicate"), self.duplicate),
            (tr("Export as Markdown…"), self._ask_to_export),
            (tr("Delete"), self.remove),
        ):
            entry = menu.addAction(text)
            entry.triggered.connect(lambda _=False, act=act: act(conversation_id))
        return menu

    def export(self, conversation_id: str, file: Path) -> None:
        """Write it as Markdown; says what is wrong when that fails."""
        path = self._path(conversation_id)
        if path is None:
            return
        text = as_markdown(self._conversations.get(conversation_id), path)
        try:
            write_atomically(file, text.encode())  # what was there is lost by no full disk
        except OSError as error:
            Toast.show_over(
                self, tr("{file} cannot be written: {why}", file=file, why=error.strerror)
            )
        else:
            Toast.show_over(self, tr("Saved as {file}", file=file))

    def _path(self, conversation_id: str) -> list[Message] | None:
        """Its messages; None, and told, when they cannot be read."""
        try:
            return self._conversations.path(conversation_id)
        except DataError as error:
            self._conversations.failed.emit(str(error))
            return None

    def _ask_to_export(self, conversation_id: str) -> None:
        title = self._conversations.get(conversation_id).title
        ask_where_to_save(
            self,
            self._settings,
            tr("Export as Markdown"),
            file_name(title),
            lambda file: self.export(conversation_id, file),
            name_filter="*.md",
        )

    def _restore(self, conversation_id: str) -> None:
        self._conversations.restore(conversation_id)
        self.opened.emit(conversation_id, "")

    def _on_chosen(self, index: QModelIndex) -> None:
        if conversation_id := index.data(ID_ROLE):
            self.opened.emit(conversation_id, index.data(MESSAGE_ROLE))

    def _on_menu_asked(self, conversation_id: str, place: QPoint) -> None:
        self.make_menu(conversation_id).popup(place)

    def _on_removal_asked(self, conversation_id: str) -> None:
        self.remove(conversation_id)

    def _on_searched(self, text: str) -> None:
        if text:
            self._conversations.search_later(text, self._on_found)
        else:
            self._nothing.hide()
            self.model.show_hits(None)

    def _on_found(self, hits: list[SearchHit], why: str) -> None:
        if self.search.text().strip():
            self._nothing.setText(
                tr("Not all chats could be searched: {why}.", why=why)
                if why
                else tr("No chat has these words.")
            )
            self._nothing.setVisible(bool(why) or not hits)
            self.model.show_hits(hits)

    def _on_reset(self) -> None:
        self.set_current(self._current)


class _View(QListView):
    """The lines.

    Signals:
        menu_asked: args: conversation id, global position.
        removal_asked: The Delete key. arg: conversation id.
    """

    menu_asked = Signal(str, QPoint)
    removal_asked = Signal(str)

    def __init__(self, delegate: ConversationDelegate, parent: QWidget):
        super().__init__(parent)
        self._delegate = delegate
        set_kind(self, "side")
        self.setAccessibleName(tr("Chats"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.DoubleClicked
        )
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu)

    def _on_menu(self, place: QPoint) -> None:
        if conversation_id := self.indexAt(place).data(ID_ROLE):
            self.menu_asked.emit(conversation_id, self.viewport().mapToGlobal(place))

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """The button at the right of a line opens its menu."""
        index = self.indexAt(event.position().toPoint())
        conversation_id = index.data(ID_ROLE) if index.isValid() else ""
        area = self._delegate.more_area(self.visualRect(index)) if conversation_id else None
        if area and area.adjusted(-4, -6, 6, 6).contains(event.position().toPoint()):
            self.menu_asked.emit(conversation_id, event.globalPosition().toPoint())
            return
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802, Qt's name
        """Delete removes a conversation; it can be undone."""
        conversation_id = self.currentIndex().data(ID_ROLE)
        if event.key() == Qt.Key.Key_Delete and conversation_id:
            self.removal_asked.emit(conversation_id)
            return
        super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802, Qt's name
        """No line is hovered any more."""
        super().leaveEvent(event)
        self.viewport().update()
