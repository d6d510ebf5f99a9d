"""LiveItem: an item that is being worked on."""

from app.reply import Reply
from engine.request import NO_SESSION, SessionId


class LiveItem:
    """Without a reply while its question is being saved.

    Attributes:
        done, total: Prompt tokens that are in the KV cache, of how many; total 0: it waits.
    """

    def __init__(self) -> None:
        self.reply: Reply | None = None
        self.session: SessionId = NO_SESSION
        self.done = 0
        self.total = 0

    @property
    def n_tokens(self) -> int:
        """Tokens of the reply so far."""
        return self.reply.n_tokens if self.reply else 0

    @property
    def tokens_per_s(self) -> float:
        """How fast they come."""
        return self.reply.tokens_per_s if self.reply else 0.0

    @property
    def text(self) -> str:
        """The reply so far."""
        return self.reply.text if self.reply else ""
