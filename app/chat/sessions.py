"""Sessions: which conversations have a KV cache in the engine, so that turns are read once."""

import time
from collections import OrderedDict

from PySide6.QtCore import QObject, QTimer

from app.engine_service import EngineService
from engine.engine_state import EngineState
from engine.request import NO_SESSION, SessionId

IDLE_S = 30 * 60.0  # a chat that rests so long is read again when it goes on
LOOK_EVERY_MS = 60_000


class Sessions(QObject):
    """At most as many as the engine computes at once; the one used longest ago goes first.

    A KV cache takes memory that the expert cache could have, so none is kept for long.
    """

    def __init__(self, service: EngineService, parent: QObject | None = None):
        super().__init__(parent)
        self._service = service
        self._sessions: OrderedDict[str, tuple[SessionId, float]] = OrderedDict()
        self._busy: set[str] = set()
        self._unwanted: set[str] = set()  # busy ones that go when their request ends
        service.state_changed.connect(self._on_state_changed)
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_EVERY_MS)
        self._timer.timeout.connect(self._on_looked)
        self._timer.start()

    def __len__(self) -> int:
        return len(self._sessions)

    def take(self, conversation: str) -> SessionId:
        """The conversation's session, for one request; NO_SESSION when all are in use."""
        options = self._service.state.options
        most = options.max_requests if options else 1
        if conversation not in self._sessions:
            self._shrink(most - 1)
            if len(self._sessions) >= most:
                return NO_SESSION
            self._sessions[conversation] = (self._service.open_session(), 0.0)
        self._unwanted.discard(conversation)
        session, _ = self._sessions[conversation]
        self._sessions[conversation] = (session, time.monotonic())
        self._sessions.move_to_end(conversation)
        self._busy.add(conversation)
        return session

    def give_back(self, conversation: str) -> None:
        """Its request has ended."""
        self._busy.discard(conversation)
        if conversation in self._unwanted:
            self.drop(conversation)
        elif conversation in self._sessions:
            session, _ = self._sessions[conversation]
            self._sessions[conversation] = (session, time.monotonic())

    def drop(self, conversation: str) -> None:
        """What it holds is of no use any more: another branch is shown, or the chat is gone."""
        if conversation in self._busy:
            self._unwanted.add(conversation)
        elif conversation in self._sessions:
            self._unwanted.discard(conversation)
            session, _ = self._sessions.pop(conversation)
            self._service.close_session(session)

    def _shrink(self, most: int) -> None:
        for conversation in [each for each in self._sessions if each not in self._busy]:
            if len(self._sessions) <= most:
                return
            self.drop(conversation)

    def _on_looked(self) -> None:
        now = time.monotonic()
        for conversation, (_, used) in list(self._sessions.items()):
            if now - used > IDLE_S and conversation not in self._busy:
                self.drop(conversation)

    def _on_state_changed(self, state: EngineState) -> None:
        if state.phase != "ready":  # the engine's sessions went with it
            self._sessions.clear()
            self._busy.clear()
            self._unwanted.clear()
