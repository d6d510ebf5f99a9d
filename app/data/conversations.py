"""Conversations: the truth about all conversations, in memory and on disk."""

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.data import statements
from app.data.conversation import Conversation, Kind, Message, MessageState, SearchHit
from app.data.data_error import DataError, damaged
from app.data.message_tree import MessageTree
from app.data.search_hits import hits_in
from app.data.searcher import Found, find
from app.data.store import OnSaved, Store
from app.reply_result import ReplyResult

_MOST_CHARS_IN_MEMORY = 64 << 20
_KEPT_REMOVED_S = 24 * 3600.0
_CHANGEABLE = {"title", "system_prompt", "preset", "draft", "task"}


class Conversations(QObject):
    """What is read here is what was last written here, whether or not it has reached the disk yet.

    Signals:
        added: New or restored. arg: Conversation.
        changed: A field or the shown path. arg: Conversation.
        removed: arg: id.
        message_added: arg: Message.
        message_changed: Its text, state or result. arg: Message.
        message_saved: Added by `add_message`, and now on disk. arg: message id.
        failed: Something is not on disk, and tried again, or cannot be read. arg: a sentence.
        recovered: All of it is on disk after all.
    """

    added = Signal(object)
    changed = Signal(object)
    removed = Signal(str)
    message_added = Signal(object)
    message_changed = Signal(object)
    message_saved = Signal(str)
    failed = Signal(str)
    recovered = Signal()

    def __init__(self, path: Path, parent: QObject | None = None):
        """Open or make the database.

        Raises:
            DataError: It cannot be used; the file is as it was.
        """
        super().__init__(parent)
        self.store = Store(path, self)
        self.store.failed.connect(self.failed)
        self.store.recovered.connect(self.recovered)
        self._conversations: dict[str, Conversation] = {}
        self._removed: dict[str, Conversation] = {}
        self._trees: OrderedDict[str, MessageTree] = OrderedDict()  # least recently used first
        self._places: dict[str, str] = {}  # message to conversation, of those in _trees
        try:
            self._read()
        except DataError:
            self.store.close()
            raise
        self.store.write(statements.STOP_STREAMING, ())  # what a crash has left
        self.store.write(statements.PURGE, (time.time() - _KEPT_REMOVED_S,))

    def all(self, kind: Kind = "chat") -> list[Conversation]:
        """Those of a kind, the most recently used first."""
        found = [c for c in self._conversations.values() if c.kind == kind]
        return sorted(found, key=lambda conversation: conversation.updated, reverse=True)

    def get(self, conversation_id: str) -> Conversation:
        """KeyError when there is none, or it was removed."""
        return self._conversations[conversation_id]

    def __contains__(self, conversation_id: str | None) -> bool:
        """Whether `get` would give it."""
        return conversation_id in self._conversations

    def create(
        self,
        *,
        title: str = "",
        kind: Kind = "chat",
        system_prompt: str = "",
        preset: str = "",
        task: str | None = None,
    ) -> Conversation:
        """A new one without messages."""
        now = time.time()
        conversation = Conversation(
            id=_new_id(),
            title=_clean(title),
            created=now,
            updated=now,
            kind=kind,
            system_prompt=_clean(system_prompt),
            preset=preset,
            task=task,
        )
        self._insert(conversation, MessageTree())
        return conversation

    def update(self, conversation_id: str, **fields: str | None) -> Conversation:
        """Change any of title, system_prompt, preset, draft, task."""
        if not fields.keys() <= _CHANGEABLE:
            raise TypeError(f"cannot change {sorted(fields.keys() - _CHANGEABLE)}")
        cleaned = {name: value and _clean(value) for name, value in fields.items()}
        return self._replace(msgspec.structs.replace(self.get(conversation_id), **cleaned))

    def rename(self, conversation_id: str, title: str) -> Conversation:
        """Give it another title."""
        return self.update(conversation_id, title=title)

    def remove(self, conversation_id: str) -> None:
        """Take it away; `restore` brings it back until it is purged, a day later or when asked."""
        self._removed[conversation_id] = self._conversations.pop(conversation_id)
        self.store.write(statements.SET_REMOVED, (time.time(), conversation_id))
        self.removed.emit(conversation_id)

    def restore(self, conversation_id: str) -> Conversation:
        """Undo `remove`; KeyError once it has been purged."""
        conversation = self._removed.pop(conversation_id)
        self._conversations[conversation_id] = conversation
        self.store.write(statements.SET_REMOVED, (None, conversation_id))
        self.added.emit(conversation)
        return conversation

    def is_removed(self, conversation_id: str) -> bool:
        """Whether `restore` would bring it back."""
        return conversation_id in self._removed

    def purge_removed(self) -> None:
        """Delete what was removed, for good."""
        for conversation_id in self._removed:
            self._forget(conversation_id)
        self._removed.clear()
        self.store.write(statements.PURGE, (time.time(),))

    def path(self, conversation_id: str) -> list[Message]:
        """The shown messages, root first."""
        return self._tree(conversation_id).path()

    def message(self, message_id: str) -> Message:
        """KeyError when there is none."""
        return self._tree_of(message_id)[message_id]

    def siblings(self, message_id: str) -> list[Message]:
        """All that follow the same message, itself included, oldest first."""
        return self._tree_of(message_id).siblings(message_id)

    def select(self, message_id: str) -> None:
        """Show the path through this message, from there on through the newest ones."""
        tree = self._tree_of(message_id)
        tree.leaf = tree.newest_leaf(message_id)
        conversation = self.get(tree[message_id].conversation)
        self._replace(msgspec.structs.replace(conversation, leaf=tree.leaf))

    def add_message(
        self,
        conversation_id: str,
        role: str,
        text: str,
        *,
        parent: str | None = "leaf",
        state: MessageState = "done",
        result: ReplyResult | None = None,
        on_saved: OnSaved | None = None,
    ) -> Message:
        """Add below `parent`: a message id, "leaf" for the end of the shown path, None for a root.

        It becomes the end of the shown path. `on_saved` is called once: with None when it is on
        disk, or with a sentence why it is not. Even then it stays in the conversation and is tried
        again, and `message_saved` tells when that succeeds; so it need not be added again.
        """
        conversation = self.get(conversation_id)
        tree = self._tree(conversation_id)
        message = Message(
            id=_new_id(),
            conversation=conversation_id,
            parent=tree.leaf if parent == "leaf" else parent,
            role=role,
            text=_clean(text),
            state=state,
            created=time.time(),
            result=result,
        )
        tree.add(message)
        self._places[message.id] = conversation_id
        self._write_new(message, on_saved)
        self.message_added.emit(message)
        updated = max(message.created, conversation.updated)
        self._replace(msgspec.structs.replace(conversation, leaf=message.id, updated=updated))
        return message

    def save_text(
        self,
        message_id: str,
        text: str,
        *,
        state: MessageState | None = None,
        result: ReplyResult | None = None,
    ) -> Message:
        """The whole text so far; on disk at once when the state changes, else within a moment."""
        tree = self._tree_of(message_id)
        old = tree[message_id]
        message = msgspec.structs.replace(
            old, text=_clean(text), state=state or old.state, result=result or old.result
        )
        tree.replace(message)
        self.store.write(
            statements.CHANGE_MESSAGE,
            (message.state, statements.encoded(message.result), message.text, message.id),
            key=("message", message.id),
            soon=message.state == old.state,
        )
        self.message_changed.emit(message)
        if message.state != old.state and message.conversation in self._conversations:
            conversation = self.get(message.conversation)
            self._replace(msgspec.structs.replace(conversation, updated=time.time()))
        return message

    def remove_message(self, message_id: str) -> None:
        """Delete a message and all that follow it, for good."""
        tree = self._tree_of(message_id)
        conversation = self.get(tree[message_id].conversation)
        removed = tree.remove(message_id)
        self._replace(msgspec.structs.replace(conversation, leaf=tree.leaf))
        for each in removed:  # the newest first: what follows goes before what it follows
            self.store.write(statements.REMOVE_MESSAGE, (each,))

    def branch(self, message_id: str) -> Conversation:
        """A new conversation with copies of the messages up to this one."""
        tree = self._tree_of(message_id)
        source = self.get(tree[message_id].conversation)
        now = time.time()
        conversation = msgspec.structs.replace(
            source, id=_new_id(), created=now, updated=now, kind="chat", draft="", leaf=None
        )
        copies: list[Message] = []
        for message in tree.path(message_id):
            copies.append(
                msgspec.structs.replace(
                    message,
                    id=_new_id(),
                    conversation=conversation.id,
                    parent=copies[-1].id if copies else None,
                    state="stopped" if message.state == "streaming" else message.state,
                )
            )
        self._insert(conversation, MessageTree(copies))
        for copy in copies:
            self._write_new(copy)
        return self._replace(msgspec.structs.replace(conversation, leaf=copies[-1].id))

    def search(self, text: str, *, kind: Kind = "chat", most: int = 100) -> list[SearchHit]:
        """Conversations whose title or whose message has every word, most recently used first."""
        return self._hits(text, find(self.store.rows, text), kind, most)

    def search_later(
        self,
        text: str,
        callback: Callable[[list[SearchHit], str], None],
        *,
        kind: Kind = "chat",
        most: int = 100,
    ) -> None:
        """As `search`, without making the caller wait; only the newest search is answered.

        `callback` also hears why not everything could be searched, or "".
        """
        self.store.searcher.search(
            text, lambda found, why: callback(self._hits(text, found, kind, most), why)
        )

    def flush(self) -> None:
        """Return once everything is on disk, or `failed` has told why not."""
        self.store.flush()

    def close(self) -> None:
        """Write what waits and let go of the file."""
        self.store.close()

    def _read(self) -> None:
        for row in self.store.rows(statements.ALL):
            try:
                found, removed = statements.conversation_of(row)
            except msgspec.ValidationError as error:
                raise damaged(self.store.path, str(error)) from None
            (self._removed if removed else self._conversations)[found.id] = found

    def _insert(self, conversation: Conversation, tree: MessageTree) -> None:
        self._conversations[conversation.id] = conversation
        self._keep(conversation.id, tree)
        self.store.write(
            statements.INSERT, (conversation.id, *statements.conversation_row(conversation))
        )
        self.added.emit(conversation)

    def _replace(self, conversation: Conversation) -> Conversation:
        old = self._conversations[conversation.id]
        if conversation == old:
            return old
        self._conversations[conversation.id] = conversation
        self.store.write(
            statements.UPDATE,
            (*statements.conversation_row(conversation), conversation.id),
            key=("conversation", conversation.id),
            soon=conversation.leaf == old.leaf,
        )
        self.changed.emit(conversation)
        return conversation

    def _write_new(self, message: Message, on_saved: OnSaved | None = None) -> None:
        told = False

        def on_written(reason: str | None) -> None:
            nonlocal told
            if on_saved is not None and not told:
                told = True
                on_saved(reason)
            if reason is None:
                self.message_saved.emit(message.id)

        self.store.write(
            statements.ADD_MESSAGE,
            (
                *(message.id, message.conversation, message.parent, message.role, message.state),
                *(message.created, statements.encoded(message.result), message.text),
            ),
            on_saved=on_written,
        )

    def _tree(self, conversation_id: str) -> MessageTree:
        tree = self._trees.get(conversation_id)
        if tree is None:
            conversation = self.get(conversation_id)
            rows = self.store.rows(statements.MESSAGES, (conversation_id,))
            try:
                messages = [statements.message_of(conversation_id, row) for row in rows]
                tree = MessageTree(messages, conversation.leaf)
            except KeyError as error:
                raise damaged(self.store.path, str(error)) from None
            self._keep(conversation_id, tree)
            self._forget_some()
        self._trees.move_to_end(conversation_id)
        return tree

    def _tree_of(self, message_id: str) -> MessageTree:
        if message_id in self._places:
            return self._tree(self._places[message_id])
        rows = self.store.rows("SELECT conversation FROM message WHERE id = ?", (message_id,))
        if not rows:
            raise KeyError(message_id)
        return self._tree(str(rows[0][0]))

    def _forget_some(self) -> None:
        """Bound memory; only what is on disk may be forgotten."""
        n_chars = sum(tree.n_chars for tree in self._trees.values())
        if n_chars <= _MOST_CHARS_IN_MEMORY or not self.store.idle:
            return
        for conversation_id, tree in list(self._trees.items())[:-1]:
            if n_chars > _MOST_CHARS_IN_MEMORY and not tree.streaming:
                n_chars -= tree.n_chars
                self._forget(conversation_id)

    def _keep(self, conversation_id: str, tree: MessageTree) -> None:
        self._trees[conversation_id] = tree
        self._places.update(dict.fromkeys(tree, conversation_id))

    def _forget(self, conversation_id: str) -> None:
        for message_id in self._trees.pop(conversation_id, ()):
            del self._places[message_id]

    def _hits(self, text: str, found: Found, kind: Kind, most: int) -> list[SearchHit]:
        return hits_in(self.all(kind), self.store.rows, text, found, most)


def _clean(text: str) -> str:
    """Halves of surrogate pairs, which come from broken clipboards, cannot be stored as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _new_id() -> str:
    return uuid.uuid4().hex
