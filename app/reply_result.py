"""ReplyResult: how a reply ended and what it cost; saved as JSON with its message."""

import msgspec

from engine.events import Reason


class ReplyResult(msgspec.Struct, frozen=True, kw_only=True):
    """Known once a reply has ended.

    Attributes:
        reason: Why it ended; "cancelled" keeps the text that had arrived.
        detail: Says what happened when the reason is "error".
        n_tokens: Tokens that arrived.
        tokens_per_s: From the first token to the last; 0 with fewer than two.
        first_token_s: Seconds from asking to the first token; 0 when none arrived.
        prompt_tokens: Tokens of the prompt, of which `reused_tokens` were in the KV cache already.
        hit_rate: Share of the needed experts that were resident.
        model: Title of the model that answered.
        policy: The policy when it ended.
        link: The speed of the link when it ended, if it was emulated; else "".
    """

    reason: Reason
    detail: str = ""
    n_tokens: int = 0
    tokens_per_s: float = 0.0
    first_token_s: float = 0.0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    hit_rate: float = 0.0
    model: str = ""
    policy: str = ""
    link: str = ""
