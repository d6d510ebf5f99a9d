"""DemoChats: four chats with the demo model that are answered at once, for one click."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.engine_service import EngineService
from app.shell.model_opener import ModelOpener
from engine.demo_model import DEMO_CHATS, is_demo_model
from engine.engine_state import EngineState


class DemoChats(QObject):
    """Loads the demo model if need be, and asks for the chats when it is ready.

    Signals:
        ready: The model can answer now. arg: list of the chats' first questions.
    """

    ready = Signal(list)

    def __init__(self, service: EngineService, opener: ModelOpener) -> None:
        super().__init__(opener)
        self._service, self._opener = service, opener
        self._is_wanted = self._is_loading = False
        service.state_changed.connect(self._on_state_changed)
        opener.demo_ended.connect(self._on_demo_ended)
        opener.declined.connect(self._on_declined)

    def start(self) -> None:
        """Have the chats; `ready` follows unless the model cannot be loaded."""
        if self._is_wanted:
            return
        self._is_wanted, self._is_loading = True, False
        if not self._begin(self._service.state):
            self._opener.open_demo()

    def _begin(self, state: EngineState) -> bool:
        is_demo = state.model is not None and is_demo_model(Path(state.model.path))
        if not (is_demo and state.phase == "ready"):
            return False
        self._is_wanted = False
        self.ready.emit([questions[0] for questions in DEMO_CHATS])
        return True

    def _on_state_changed(self, state: EngineState) -> None:
        if not self._is_wanted or self._begin(state):
            return
        if state.phase in ("starting", "loading"):
            self._is_loading = True
        elif self._is_loading:  # it failed, or a person stopped it
            self._is_wanted = False

    def _on_demo_ended(self, why: str) -> None:
        if why:
            self._is_wanted = False

    def _on_declined(self) -> None:
        self._is_wanted = False
