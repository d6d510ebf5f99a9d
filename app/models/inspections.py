"""Inspections: the long parts of models' descriptions, read again for whoever looks at them."""

from collections import OrderedDict

from PySide6.QtCore import QObject, Signal

from app.engine_service import EngineService
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from engine.errors import EngineError
from engine.model_info import ModelInfo

KEPT = 4


class Inspections(QObject):
    """Reads in a process of its own; keeps the last few.

    A model whose file has changed is read again, and the library learns of it.

    Signals:
        arrived: A description, or why there is none. arg: the model's id.
    """

    arrived = Signal(str)

    def __init__(
        self, service: EngineService, library: ModelLibrary, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._service = service
        self._library = library
        self._jobs: dict[int, str] = {}
        self._infos: OrderedDict[str, ModelInfo] = OrderedDict()
        self._errors: dict[str, str] = {}
        service.job_done.connect(self._on_done)
        service.job_failed.connect(self._on_failed)
        library.changed.connect(self._on_changed)

    def get(self, model: KnownModel) -> ModelInfo | None:
        """None until it has arrived."""
        info = self._infos.get(model.id)
        return info if info and info.fingerprint == model.info.fingerprint else None

    def error(self, model: KnownModel) -> str:
        """Why there is no description; "" while there is one, or one may come."""
        return self._errors.get(model.id, "")

    def want(self, model: KnownModel) -> None:
        """Read it unless it is there or on its way."""
        missing = self._library.state(model.id).missing
        if self.get(model) is None and model.id not in self._jobs.values() and not missing:
            self._errors.pop(model.id, None)
            self._jobs[self._service.inspect(model.path)] = model.id

    def _on_done(self, job: int, result: object) -> None:
        id = self._jobs.pop(job, None)
        if id is None or not isinstance(result, ModelInfo):
            return
        if all(model.id != id for model in self._library.all()):
            return  # removed meanwhile
        self._infos[id] = result
        self._infos.move_to_end(id)
        while len(self._infos) > KEPT:
            self._infos.popitem(last=False)
        known = self._library.get(id)
        if self._library.state(id).changed or known.info.fingerprint != result.fingerprint:
            self._library.reread(id, result)
        self.arrived.emit(id)

    def _on_failed(self, job: int, message: str, hint: str, cancelled: bool) -> None:
        if (id := self._jobs.pop(job, None)) is not None:
            self._errors[id] = str(EngineError(message, hint))
            self.arrived.emit(id)

    def _on_changed(self, model: KnownModel) -> None:
        if self._library.state(model.id).changed and model.id not in self._jobs.values():
            self._infos.pop(model.id, None)
            self.want(model)
