"""Conversation and Message: what a chat consists of."""

from typing import Literal

import msgspec

from app.reply_result import ReplyResult

Kind = Literal["chat", "subtask"]
MessageState = Literal["done", "streaming", "stopped", "failed"]


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """A chat, without its messages.

    Attributes:
        created: Seconds since 1970, as `updated`, which moves when a message is added or ends.
        preset: Name of the sampling preset; "" for the default one.
        draft: What the user has typed and not sent.
        leaf: Last message of the shown path; None without messages.
        task: The task run that it belongs to, for the kind "subtask".
    """

    id: str
    title: str = ""
    created: float = 0.0
    updated: float = 0.0
    kind: Kind = "chat"
    system_prompt: str = ""
    preset: str = ""
    draft: str = ""
    leaf: str | None = None
    task: str | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn; those with the same parent are siblings, of which one is shown.

    Attributes:
        parent: The message that it follows; None at the root.
        role: "user" or "assistant".
        created: Seconds since 1970.
        result: How it ended, for replies.
    """

    id: str
    conversation: str
    parent: str | None = None
    role: str
    text: str = ""
    state: MessageState = "done"
    created: float = 0.0
    result: ReplyResult | None = None


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that has what was searched for.

    Attributes:
        message: The newest message with it; None when only the title has it.
        snippet: The text around the first place, on one line.
    """

    conversation: Conversation
    message: str | None
    snippet: str
