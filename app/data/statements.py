"""The statements of conversations and messages, and their rows as values."""

from typing import Any

import msgspec

from app.data.conversation import Conversation, Message
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


def conversation_row(conversation: Conversation) -> tuple[object, ...]:
    """Its fields for UPDATE; with its id in front for INSERT."""
    return tuple(getattr(conversation, name) for name in _FIELDS)


def conversation_of(row: tuple[Any, ...]) -> tuple[Conversation, bool]:
    """A row of ALL as a value, and whether it has been removed.

    Raises:
        msgspec.ValidationError: Something in it makes no sense.
    """
    id_, *values, removed = row
    fields = {"id": id_, **dict(zip(_FIELDS, values, strict=True))}
    return msgspec.convert(fields, Conversation), bool(removed)


def message_of(conversation: str, row: tuple[Any, ...]) -> Message:
    """A row of MESSAGES as a value; whoever was streaming into it is gone.

    Raises:
        msgspec.DecodeError: Its result makes no sense.
    """
    id_, parent, role, text, state, created, result = row
    return Message(
        id=id_,
        conversation=conversation,
        parent=parent,
        role=role,
        text=text,
        state="stopped" if state == "streaming" else state,
        created=created,
        result=None if result is None else msgspec.json.decode(result, type=ReplyResult),
    )


def encoded(result: ReplyResult | None) -> str | None:
    """As it is kept in a row."""
    return None if result is None else msgspec.json.encode(result).decode()
