"""Reply: one generation, from being asked for to its end."""

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.reply_result import ReplyResult
from engine.events import Reason
from engine.request import RequestId


class Reply(QObject):
    """The text of one request as it arrives. EngineService makes and feeds it.

    Whoever asked for it owns it; it stays valid after its end.

    Signals:
        text_arrived: New text, at most once per frame. arg: str.
        prefilled: Prompt tokens that are in the KV cache. args: done, total.
        finished: The last signal. arg: ReplyResult.
    """

    text_arrived = Signal(str)
    prefilled = Signal(int, int)
    finished = Signal(object)

    def __init__(
        self, request: RequestId, stop: Callable[[RequestId], None], model: str, policy: str
    ) -> None:
        super().__init__()
        self.request = request
        self.text = ""
        self.n_tokens = 0
        self.result: ReplyResult | None = None
        self._stop = stop
        self._model = model
        self._policy = policy
        self._asked_s = time.monotonic()
        self._first_s = 0.0  # when the first token arrived
        self._last_s = 0.0
        self._prompt_tokens = 0
        self._reused_tokens = 0
        self._hit_rate = 0.0

    @property
    def active(self) -> bool:
        """True until `finished`."""
        return self.result is None

    @property
    def tokens_per_s(self) -> float:
        """From the first token to the latest; 0 with fewer than two."""
        return (self.n_tokens - 1) / max(1e-9, self._last_s - self._first_s) if self._gaps else 0.0

    @property
    def _gaps(self) -> bool:
        return self.n_tokens > 1 and self._last_s > self._first_s

    def stop(self) -> None:
        """End it as soon as the engine can; `finished` follows. Harmless when it has ended."""
        if self.active:
            self._stop(self.request)

    # What EngineService calls.

    def add(self, text: str, n_tokens: int) -> None:
        """Take new tokens and the text that they completed."""
        now = time.monotonic()
        if n_tokens:
            self._first_s = self._first_s or now
            self._last_s = now
            self.n_tokens += n_tokens
        if text:
            self.text += text
            self.text_arrived.emit(text)

    def set_used(self, prompt_tokens: int, reused_tokens: int, hit_rate: float) -> None:
        """Take what the request used, which arrives just before its end."""
        self._prompt_tokens = prompt_tokens
        self._reused_tokens = reused_tokens
        self._hit_rate = hit_rate

    def end(self, reason: Reason, detail: str = "", policy: str = "", link: str = "") -> None:
        """Take the end; a second one is ignored."""
        if not self.active:
            return
        self.result = ReplyResult(
            reason=reason,
            detail=detail,
            n_tokens=self.n_tokens,
            tokens_per_s=self.tokens_per_s,
            first_token_s=self._first_s - self._asked_s if self._first_s else 0.0,
            prompt_tokens=self._prompt_tokens,
            reused_tokens=self._reused_tokens,
            hit_rate=self._hit_rate,
            model=self._model,
            policy=policy or self._policy,
            link=link,
        )
        self.finished.emit(self.result)
