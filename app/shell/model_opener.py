"""ModelOpener: loads and unloads models from around the pages, and makes the demo model."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.engine_service import EngineService
from app.language import tr
from app.models.actions import ModelActions
from app.models.choices import options_for
from app.models.fit import fit
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from app.models.machine_memory import machine_memory
from app.models.packing import Packing
from engine.engine_info import EngineStats
from engine.engine_state import EngineState

if TYPE_CHECKING:
    from app.settings.settings import Settings


class ModelOpener(QObject):
    """Asks first where something may be lost or will not fit.

    Signals:
        demo_progressed: args: done, total.
        demo_ended: The demo model is being loaded, or could not be made. arg: why not, or "".
    """

    demo_progressed = Signal(int, int)
    demo_ended = Signal(str)

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
        self._packing = Packing(service, library, self)
        self._actions = ModelActions(service, library, self._packing, settings, window)
        self._stats: EngineStats | None = None
        self._demo_job = self._inspect_job = -1
        service.job_progressed.connect(self._on_job_progressed)
        service.job_done.connect(self._on_job_done)
        service.job_failed.connect(self._on_job_failed)
        service.state_changed.connect(self._on_state_changed)
        service.stats_changed.connect(self._on_stats_changed)

    @property
    def making_demo(self) -> bool:
        """True from `make_demo` to `demo_ended`."""
        return self._demo_job >= 0 or self._inspect_job >= 0

    @property
    def last_model(self) -> KnownModel | None:
        """What was loaded last, if it is still known."""
        return self._library.by_path(Path(self._settings.get("last_model")))

    def open(self, model: KnownModel) -> None:
        """Load it; what is open ends first."""
        options = options_for(model.info, model.choices, self._settings)
        memory, kv_bytes = machine_memory(), model.kv_bytes_per_token
        self._actions.load(model, fit(model.info, options, kv_bytes, memory, self._given_back()))

    def unload(self) -> None:
        """Close what is open, or stop loading."""
        self._actions.unload()

    def make_demo(self) -> None:
        """Make the demo model unless it is there, take it into the library, load it."""
        if not self.making_demo:
            self._demo_job = self._service.make_demo()

    def cancel_demo(self) -> None:
        """Stop making it."""
        for job in (self._demo_job, self._inspect_job):
            if job >= 0:
                self._service.cancel_job(job)

    def close(self) -> None:
        """No thread is left."""
        self._packing.close()

    def _given_back(self) -> int:
        """Bytes that closing the open model frees; slots take memory when they are first filled."""
        info, stats = self._service.state.info, self._stats
        if info is None:
            return 0
        filled = stats.cache_in_use * info.record_bytes if stats else 0
        return info.resident_bytes + min(filled, info.experts_total_bytes)

    def _on_stats_changed(self, stats: EngineStats) -> None:
        self._stats = stats

    def _on_job_progressed(self, job: int, stage: str, done: int, total: int) -> None:
        if job == self._demo_job:
            self.demo_progressed.emit(done, total)

    def _on_job_done(self, job: int, result: object) -> None:
        if job == self._demo_job:
            self._demo_job = -1
            self._inspect_job = self._service.inspect(Path(str(result)))
        elif job == self._inspect_job:
            self._inspect_job = -1
            self.demo_ended.emit("")
            self.open(self._library.add(result))  # type: ignore[arg-type]  # a ModelInfo

    def _on_job_failed(self, job: int, message: str, hint: str, cancelled: bool) -> None:
        if job in (self._demo_job, self._inspect_job):
            self._demo_job = self._inspect_job = -1
            self.demo_ended.emit(tr("Stopped.") if cancelled else f"{message} {hint}".strip())

    def _on_state_changed(self, state: EngineState) -> None:
        self._stats = None  # another engine counts from zero
        if state.phase == "ready" and state.model:
            self._settings.set("last_model", state.model.path)
