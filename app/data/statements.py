"""The statements of conversations and messages, and their rows as values."""

from contextlib import suppress
from typing import Any, get_args

import msgspec

from app.data.conversation import Conversation, Kind, Message, MessageState
from app.reply_result import ReplyResult

_FIELDS = (
    *("title", "created", "updated", "kind", "system_prompt", "preset", "draft", "leaf", "task"),
)

ALL = f"SELECT id, {', '.join(_FIELDS)}, removed IS NOT NULL FROM conversation"
INSERT = f"INSERT INTO conversation (id, {', '.join(_FIELDS)}) VALUES (?{', ?' * len(_FIELDS)})"
UPDATE = f"UPDATE conversation SET {', '.join(f'{name} = ?' for name in _FIELDS)} WHERE id = ?"
SET_REMOVED = "UPDATE conversation SET removed = ? WHERE id = ?"
PURGE = "DELETE FROM conversation WHERE removed <= ?"
MESSAGES = """
SELECT id, parent, role, text, state, created, result FROM message WHERE conversation = ? ORDER BY n
"""
ADD_MESSAGE = """
INSERT INTO message (id, conversation, parent, role, state, created, result, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
CHANGE_MESSAGE = "UPDATE message SET state = ?, result = ?, text = ? WHERE id = ?"
REMOVE_MESSAGE = "DELETE FROM message WHERE id = ?"
STOP_STREAMING = "UPDATE message SET state = 'stopped' WHERE state = 'streaming'"

_ROLES = ("user", "assistant")
_ENDED = frozenset(get_args(MessageState)) - {"streaming"}


def conversation_row(conversation: Conversation) -> tuple[object, ...]:
    """Its fields for UPDATE; with its id in front for INSERT."""
    return tuple(getattr(conversation, name) for name in _FIELDS)


def conversation_of(row: tuple[Any, ...]) -> tuple[Conversation, bool]:
    """A row of ALL as a value, and whether it has been removed.

    A letter that a disk has changed costs no chat: a kind that there is none of is a chat's.

    Raises:
        msgspec.ValidationError: Something in it makes no sense.
    """
    id_, *values, removed = row
    fields = {"id": id_, **dict(zip(_FIELDS, values, strict=True))}
    if fields["kind"] not in get_args(Kind):
        fields["kind"] = "chat"
    return msgspec.convert(fields, Conversation), bool(removed)


def message_of(conversation: str, row: tuple[Any, ...]) -> Message:
    """A row of MESSAGES as a value; whoever was streaming into it is gone.

    What makes no sense beside its text is left at what is likeliest.
    """
    id_, parent, role, text, state, created, result = row
    known: ReplyResult | None = None
    with suppress(msgspec.DecodeError, UnicodeDecodeError, TypeError):
        known = msgspec.json.decode(result, type=ReplyResult)
    return Message(
        id=id_,
        conversation=conversation,
        parent=parent,
        role=role if role in _ROLES else "user" if result is None else "assistant",
        text=text,
        state=state if state in _ENDED else "stopped",
        created=created,
        result=known,
    )


def encoded(result: ReplyResult | None) -> str | None:
    """As it is kept in a row."""
    return None if result is None else msgspec.json.encode(result).decode()
