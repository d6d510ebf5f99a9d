"""Replies: follows several requests of one engine until all have ended."""

import time
from collections.abc import Callable, Sequence

from engine.engine import Engine
from engine.events import Event, Finished, Notice, Piece
from engine.request import RequestId

_CANCEL_S = 10.0  # most time that cancelled requests get to end


class Reply:
    """What has arrived of one reply."""

    def __init__(self, request: RequestId, prompt: str):
        self.request = request
        self.prompt = prompt
        self.text = ""
        self.tokens: list[int] = []
        self.end: Finished | None = None


class Replies:
    """Several replies in the order in which they were asked for.

    Args:
        on_event: Called for every event, after it was taken in.
    """

    def __init__(
        self,
        engine: Engine,
        replies: Sequence[Reply],
        on_event: Callable[[Event], None] = lambda event: None,
    ):
        self.replies = list(replies)
        self._engine = engine
        self._on_event = on_event
        self._by_request = {reply.request: reply for reply in replies}

    def run(self, on_poll: Callable[[], None] = lambda: None) -> None:
        """Until all have ended. Ctrl-C cancels them, waits for that, and is raised again."""
        try:
            while self._running():
                self._engine.wait(0.1)
                self._take()
                on_poll()
        except KeyboardInterrupt:
            for reply in self.replies:
                if reply.end is None:
                    self._engine.cancel(reply.request)
            give_up = time.monotonic() + _CANCEL_S
            while self._running() and time.monotonic() < give_up:
                self._engine.wait(0.1)
                self._take()
            raise

    def failures(self) -> list[str]:
        """Why replies ended by an error."""
        ends = [reply.end for reply in self.replies]
        return [end.detail for end in ends if end is not None and end.reason == "error"]

    def _running(self) -> bool:
        return any(reply.end is None for reply in self.replies)

    def _take(self) -> None:
        for event in self._engine.poll():
            if not isinstance(event, Notice):
                reply = self._by_request.get(event.request)
                if reply is None:
                    continue
                if isinstance(event, Piece):
                    reply.text += event.text
                    reply.tokens += event.tokens
                elif isinstance(event, Finished):
                    reply.end = event
            self._on_event(event)
