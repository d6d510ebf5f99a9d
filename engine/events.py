"""What Engine.poll() reports, in order."""

from typing import Literal

import msgspec

from engine.request import RequestId

Reason = Literal["stop", "length", "cancelled", "error"]


class PrefillProgress(msgspec.Struct, frozen=True, tag=True):
    """`done` of `total` prompt tokens are in the KV cache."""

    request: RequestId
    done: int
    total: int


class Piece(msgspec.Struct, frozen=True, tag=True):
    """New text of a reply.

    `text` holds whole characters only and is "" while a character or a stop string may be
    incomplete; `tokens` are the token ids that arrived.
    """

    request: RequestId
    text: str
    tokens: tuple[int, ...] = ()


class Finished(msgspec.Struct, frozen=True, tag=True):
    """The last event of a request; `detail` says why when the reason is "error"."""

    request: RequestId
    reason: Reason
    detail: str = ""


class Notice(msgspec.Struct, frozen=True, tag=True):
    """Something a person should know; nothing stopped because of it."""

    text: str


Event = PrefillProgress | Piece | Finished | Notice
