"""ConversationModel: the chats by when they were used last, or those that a search has found."""

import time
from datetime import datetime, timedelta
from typing import Any

import msgspec
from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from app.chat.chats import Chats
from app.data.conversation import Conversation, SearchHit
from app.data.conversations import Conversations
from app.language import tr
from app.widgets.plain import plain

HEADER_ROLE = Qt.ItemDataRole.UserRole + 1
ID_ROLE = Qt.ItemDataRole.UserRole + 2
SNIPPET_ROLE = Qt.ItemDataRole.UserRole + 3
STREAMING_ROLE = Qt.ItemDataRole.UserRole + 4
MESSAGE_ROLE = Qt.ItemDataRole.UserRole + 5

_Index = QModelIndex | QPersistentModelIndex


class Entry(msgspec.Struct, frozen=True):
    """A line of the list; without a conversation it is a heading."""

    title: str
    conversation: str = ""
    snippet: str = ""
    message: str = ""


class ConversationModel(QAbstractListModel):
    """Follows `conversations`; a search replaces the list until it is cleared."""

    def __init__(self, conversations: Conversations, chats: Chats):
        super().__init__()
        self._conversations = conversations
        self._chats = chats
        self._entries: list[Entry] = []
        self._hits: list[SearchHit] | None = None
        self._is_held = False
        self._newest = 0.0  # when the first one was used
        conversations.added.connect(self._on_added)
        conversations.removed.connect(self._on_removed)
        conversations.changed.connect(self._on_changed)
        chats.streaming_changed.connect(self._on_streaming_changed)
        self._rebuild()

    def show_hits(self, hits: list[SearchHit] | None) -> None:
        """Show what a search has found; None: everything."""
        self._hits = hits
        self._rebuild()

    def hold(self, on: bool) -> None:
        """While a title is edited, lines stay where they are."""
        self._is_held = on
        self._rebuild()

    def row_of(self, conversation_id: str) -> int:
        """Where a conversation is; -1 when it is not shown."""
        for row, entry in enumerate(self._entries):
            if entry.conversation == conversation_id:
                return row
        return -1

    def entry(self, index: _Index) -> Entry:
        """A line of the list."""
        return self._entries[index.row()]

    # Qt's own calls.

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: N802, B008, Qt's way
        """Headings and conversations."""
        return 0 if parent.isValid() else len(self._entries)

    def flags(self, index: _Index) -> Qt.ItemFlag:
        """Headings are not for choosing."""
        if not self.entry(index).conversation:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """What a line says."""
        entry = self.entry(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.title
        if role == Qt.ItemDataRole.EditRole:
            return entry.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(entry.title) if entry.conversation else None
        if role == HEADER_ROLE:
            return not entry.conversation
        if role == ID_ROLE:
            return entry.conversation
        if role == SNIPPET_ROLE:
            return entry.snippet
        if role == MESSAGE_ROLE:
            return entry.message
        if role == STREAMING_ROLE:
            return self._chats.is_streaming(entry.conversation)
        return None

    def setData(self, index: _Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802
        """Rename a conversation."""
        title = " ".join(str(value).split())
        conversation = self.entry(index).conversation
        # While its title was edited, the line stayed, even where the conversation went.
        if role != Qt.ItemDataRole.EditRole or not title or conversation not in self._conversations:
            return False
        self._conversations.rename(conversation, title)
        return True

    def _rebuild(self) -> None:
        if self._is_held:
            return
        entries = self._found() if self._hits is not None else self._all()
        if entries != self._entries:
            self.beginResetModel()
            self._entries = entries
            self.endResetModel()

    def _found(self) -> list[Entry]:
        # What was found may have been renamed or removed since.
        ids = [(hit, hit.conversation.id) for hit in self._hits or []]
        return [
            Entry(
                self._conversations.get(id_).title or tr("New chat"),
                id_,
                hit.snippet,
                hit.message or "",
            )
            for hit, id_ in ids
            if id_ in self._conversations
        ]

    def _all(self) -> list[Entry]:
        entries: list[Entry] = []
        heading = ""
        now = time.time()
        conversations = self._conversations.all("chat")
        self._newest = conversations[0].updated if conversations else 0.0
        for conversation in conversations:
            when = _when(conversation.updated, now)
            if when != heading:
                heading = when
                entries.append(Entry(heading))
            entries.append(Entry(conversation.title or tr("New chat"), conversation.id))
        return entries

    def _on_added(self, conversation: Conversation) -> None:
        if conversation.kind == "chat":  # a task has thousands of others
            self._rebuild()

    def _on_removed(self, conversation_id: str) -> None:
        if self.row_of(conversation_id) >= 0:
            self._rebuild()

    def _on_changed(self, conversation: Conversation) -> None:
        if conversation.kind != "chat":
            return
        row = self.row_of(conversation.id)
        is_placed = self._hits is not None or (row == 1 and conversation.updated == self._newest)
        if row >= 0 and is_placed and self._entries[row].title == conversation.title:
            return  # drafts and the like: nothing here looks different
        self._rebuild()

    def _on_streaming_changed(self, conversation_id: str) -> None:
        row = self.row_of(conversation_id)
        if row >= 0:
            index = self.index(row)
            self.dataChanged.emit(index, index, [STREAMING_ROLE])


def _when(then: float, now: float) -> str:
    today = datetime.fromtimestamp(now).date()
    # What a damaged row has may be beyond every calendar.
    day = datetime.fromtimestamp(min(max(then, 0.0), now)).date()
    if day >= today:
        return tr("Today")
    if day == today - timedelta(days=1):
        return tr("Yesterday")
    if day > today - timedelta(days=7):
        return tr("Last 7 days")
    if day > today - timedelta(days=30):
        return tr("Last 30 days")
    return tr("Older")
