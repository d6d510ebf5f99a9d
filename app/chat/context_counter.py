"""ContextCounter: asks the engine how many tokens a chat and what is being written take."""

import time

from PySide6.QtCore import QObject, Signal

from app.chat.chat import Chat
from app.data.conversation import Message as Saved
from engine.engine_state import EngineState
from engine.request import Message

TELL_EVERY_S = 0.25


class ContextCounter(QObject):
    """Counts the turns when they change, and what is being written by itself, as it is short.

    While a reply streams nothing is counted: the engine tells the tokens of its prompt, and the new
    ones are those that arrive. They are shown a few times a second.

    Signals:
        counted: args: tokens in all, tokens of the context; (0, 0) while nobody can count.
    """

    counted = Signal(int, int)

    def __init__(self, chat: Chat, parent: QObject | None = None):
        super().__init__(parent)
        self._chat = chat
        self._n_turns = 0
        self._n_draft = 0
        self._newest = 0
        self._told_s = 0.0
        self._is_over = False
        self._draft = ""
        chat.path_changed.connect(self.recount)
        chat.message_added.connect(self._on_message_added)
        chat.message_changed.connect(self._on_message_changed)
        chat.busy_changed.connect(self._on_busy_changed)
        chat.service.state_changed.connect(self._on_state_changed)

    def set_draft(self, text: str) -> None:
        """Something else is being written."""
        if text != self._draft:
            self._draft = text
            self._count_draft()

    def end(self) -> None:
        """Nobody looks any more; what has been asked is answered to nobody."""
        self._is_over = True

    def recount(self) -> None:
        """Count the turns anew."""
        turns = self._chat.turns() if self._is_ready else ()  # they are all read for that
        self._newest += 1
        newest = self._newest
        if turns:
            self._chat.service.count_tokens(turns, lambda n: self._on_turns_counted(newest, n))
        else:
            self._n_turns = 0
            self._tell()

    def _count_draft(self) -> None:
        if self._is_ready and self._draft.strip():
            draft = [Message("user", self._draft)]
            self._chat.service.count_tokens(draft, self._on_draft_counted)
        else:
            self._n_draft = 0
            self._tell()

    @property
    def _is_ready(self) -> bool:
        return self._chat.service.state.phase == "ready"

    def _on_message_added(self, message: Saved) -> None:
        if message.role == "user":
            self.recount()

    def _on_message_changed(self, _: str) -> None:
        n_tokens, now = self._chat.n_streamed, time.monotonic()
        if n_tokens and now >= self._told_s + TELL_EVERY_S:
            self._told_s = now
            self._newest += 1  # what has been asked before is older
            self._n_turns = n_tokens
            self._tell()

    def _on_busy_changed(self) -> None:
        if not self._chat.is_busy:
            self.recount()

    def _on_state_changed(self, state: EngineState) -> None:
        self.recount()
        self._count_draft()  # another model may count otherwise

    def _on_turns_counted(self, query: int, n_tokens: int) -> None:
        if query == self._newest:
            self._n_turns = max(0, n_tokens)
            self._tell()

    def _on_draft_counted(self, n_tokens: int) -> None:
        self._n_draft = max(0, n_tokens) if self._draft.strip() else 0
        self._tell()

    def _tell(self) -> None:
        if self._is_over:
            return
        info = self._chat.service.state.info
        context = info.context if info and self._is_ready else 0
        self.counted.emit(self._n_turns + self._n_draft if context else 0, context)
