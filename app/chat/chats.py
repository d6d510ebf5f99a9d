"""Chats: the conversations that are at work, by id."""

from functools import partial

from PySide6.QtCore import QObject, Signal

from app.chat.chat import Chat
from app.chat.sessions import Sessions
from app.data.conversation import Conversation, Message
from app.data.conversations import Conversations
from app.engine_service import EngineService
from app.settings.settings import Settings


class Chats(QObject):
    """Makes a Chat when one is asked for, and keeps it while it is open or streams.

    One place hears what happens to all messages and passes it on to the one chat that it concerns:
    with many replies at once this is what most signals are about.

    Signals:
        streaming_changed: A chat has begun or stopped to stream. arg: conversation id.
        stop_wanted: What someone else writes into a chat shall end. arg: conversation id.
    """

    streaming_changed = Signal(str)
    stop_wanted = Signal(str)

    def __init__(
        self,
        service: EngineService,
        conversations: Conversations,
        settings: Settings,
        parent: QObject | None = None,
    ):
        super().__init__(parent)
        self.service = service
        self.conversations = conversations
        self.settings = settings
        self.sessions = Sessions(service, self)
        self._chats: dict[str, Chat] = {}
        self._open: set[str] = set()
        conversations.message_added.connect(self._on_message_added)
        conversations.message_changed.connect(self._on_message_changed)
        conversations.message_saved.connect(self._on_message_saved)
        conversations.changed.connect(self._on_conversation_changed)
        conversations.removed.connect(self._on_removed)

    def open(self, conversation: Conversation) -> Chat:
        """The chat of a conversation, until `close`."""
        chat = self._chats.get(conversation.id)
        if chat is None:
            chat = Chat(
                conversation, self.service, self.conversations, self.settings, self.sessions, self
            )
            chat.busy_changed.connect(self._on_busy_changed)
            chat.stop_wanted.connect(partial(self.stop_wanted.emit, chat.id))
            self._chats[conversation.id] = chat
        self._open.add(conversation.id)
        return chat

    def close(self, conversation_id: str) -> None:
        """Nobody looks at it; a reply that streams goes on to its end."""
        self._open.discard(conversation_id)
        self._let_go(conversation_id)

    def is_streaming(self, conversation_id: str) -> bool:
        """Whether a reply is being written there, as far as Chats knows."""
        chat = self._chats.get(conversation_id)
        return chat is not None and chat.is_busy

    def _let_go(self, conversation_id: str) -> None:
        chat = self._chats.get(conversation_id)
        if chat is not None and conversation_id not in self._open and not chat.is_busy:
            del self._chats[conversation_id]
            chat.deleteLater()

    def _on_busy_changed(self) -> None:
        chat = self.sender()
        assert isinstance(chat, Chat)
        self.streaming_changed.emit(chat.id)
        if not chat.is_busy:
            self._let_go(chat.id)

    def _on_message_added(self, message: Message) -> None:
        if chat := self._chats.get(message.conversation):
            chat.on_message_added(message)

    def _on_message_changed(self, message: Message) -> None:
        if chat := self._chats.get(message.conversation):
            chat.on_message_changed(message)

    def _on_message_saved(self, message_id: str) -> None:
        for chat in self._chats.values():
            chat.on_message_saved(message_id)

    def _on_conversation_changed(self, conversation: Conversation) -> None:
        if chat := self._chats.get(conversation.id):
            chat.on_conversation_changed(conversation)

    def _on_removed(self, conversation_id: str) -> None:
        if chat := self._chats.get(conversation_id):
            chat.stop()
            self.sessions.drop(conversation_id)
