"""ModelOpener: loads and unloads models from around the pages, the demo model too."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.engine_service import EngineService
from app.models.choices import options_for
from app.models.fit import fit
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from app.models.loading import Loading
from app.models.machine_memory import machine_memory
from engine.demo_model import demo_model
from engine.engine_state import EngineState
from engine.errors import EngineError

if TYPE_CHECKING:
    from app.settings.settings import Settings


class ModelOpener(QObject):
    """Asks first where something may be lost or will not fit.

    Signals:
        demo_ended: The demo model is being loaded, or cannot be. arg: why not, or "".
        declined: Asked whether to load a model all the same, a person said no.
    """

    demo_ended = Signal(str)
    declined = Signal()

    def __init__(
        self,
        service: EngineService,
        library: ModelLibrary,
        settings: "Settings",
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._service = service
        self._library = library
        self._settings = settings
        self._loading = Loading(service, settings, window)
        self._demo_job = -1  # which reads the demo model's file
        self._loading.declined.connect(self.declined)
        service.job_done.connect(self._on_job_done)
        service.job_failed.connect(self._on_job_failed)
        service.state_changed.connect(self._on_state_changed)

    @property
    def last_model(self) -> KnownModel | None:
        """What was loaded last, if it is still known."""
        return self._library.by_path(Path(self._settings.get("last_model")))

    def open(self, model: KnownModel) -> None:
        """Load it; what is open ends first."""
        options = options_for(model.info, model.choices, self._settings)
        memory, given_back = machine_memory(), self._loading.given_back
        kv_bytes = model.kv_bytes_per_token
        self._loading.load(model, fit(model.info, options, kv_bytes, memory, given_back))

    def unload(self) -> None:
        """Close what is open, or stop loading."""
        self._loading.unload()

    def open_demo(self) -> None:
        """Take the demo model into the library unless it is there, and load it."""
        if self._demo_job >= 0:
            return
        try:
            path = demo_model()
        except EngineError as error:
            self.demo_ended.emit(str(error))
            return
        if known := self._library.by_path(path):
            self.demo_ended.emit("")
            self.open(known)
        else:
            self._demo_job = self._service.inspect(path)

    def _on_job_done(self, job: int, result: object) -> None:
        if job == self._demo_job:
            self._demo_job = -1
            self.demo_ended.emit("")
            self.open(self._library.add(result))  # type: ignore[arg-type]  # a ModelInfo

    def _on_job_failed(self, job: int, message: str, hint: str, cancelled: bool) -> None:
        if job == self._demo_job:
            self._demo_job = -1
            self.demo_ended.emit(str(EngineError(message, hint)))

    def _on_state_changed(self, state: EngineState) -> None:
        if state.phase == "ready" and state.model:
            self._settings.set("last_model", state.model.path)
