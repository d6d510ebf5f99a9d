"""ModelLibrary: the truth about which models are known and what of them is on the disk."""

import time
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.background import Background, Task, sentence
from app.language import tr
from app.models import library_file
from app.models.choices import ModelChoices
from app.models.known_model import KnownModel, known_model
from app.models.model_state import ModelState, state_of
from app.short import short
from engine.errors import EngineError
from engine.model_info import ModelInfo
from engine.pack import pack_path


class OtherModelError(EngineError):
    """A file was named for a known model, but holds another one."""

    code = "other_model"


class ModelLibrary(QObject):
    """Known models, oldest first; whoever shows them listens.

    Changes reach the disk soon after, by a thread that `close` waits for; another looks at files. A
    model whose file is gone stays known.

    Signals:
        added: args: KnownModel.
        changed: The model, or what of it is on the disk, is another. arg: KnownModel.
        removed: arg: its id.
        failed: The list could not be saved. arg: a sentence.

    Attributes:
        path: The file of the list.
        notices: Sentences about what was wrong with it when it was read.
    """

    added = Signal(object)
    changed = Signal(object)
    removed = Signal(str)
    failed = Signal(str)

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.path = path
        loaded = library_file.load(path)
        self.notices = tuple(loaded.notices)
        self._keep_as = loaded.keep_as
        self._models = {model.id: model for model in loaded.models}
        self._states: dict[str, ModelState] = {}
        self._looking = Background("library-look", self)
        self._saving = Background("library-save", self)
        self._save_queued = False
        self._unsaved = False  # the last write has failed; its thread says so

    # What is known.

    def all(self) -> list[KnownModel]:
        """Every model, oldest first."""
        return list(self._models.values())

    def get(self, id: str) -> KnownModel:
        """KeyError when there is none of that id."""
        return self._models[id]

    def state(self, id: str) -> ModelState:
        """What of the model is on the disk, as far as it was looked at."""
        return self._states.get(id, ModelState())

    def by_path(self, path: Path) -> KnownModel | None:
        """The model that has this file."""
        return next((m for m in self._models.values() if path in m.files), None)

    def by_fingerprint(self, fingerprint: int) -> KnownModel | None:
        """The model with this content."""
        found = (m for m in self._models.values() if m.info.fingerprint == fingerprint)
        return next(found, None)

    # Changes.

    def add(self, info: ModelInfo) -> KnownModel:
        """Take in a model; one that has the same files is brought up to date instead."""
        if known := self.by_path(Path(info.path)):
            return self.reread(known.id, info)
        model = known_model(uuid.uuid4().hex, time.time(), info)
        self._models[model.id] = model
        self._save()
        self.added.emit(model)
        self.look_at(model.id)
        return model

    def reread(self, id: str, info: ModelInfo) -> KnownModel:
        """Take over what a known model's file holds now."""
        old = self._models[id]
        earlier = old.earlier_packs
        if old.info.fingerprint != info.fingerprint:
            earlier = (*earlier, str(pack_path(old.info)))
        new = known_model(id, old.added, info)
        if state := self._states.get(id):
            self._states[id] = msgspec.structs.replace(state, changed=False, missing=())
        self._replace(msgspec.structs.replace(new, choices=old.choices, earlier_packs=earlier))
        self.look_at(id)
        return self._models[id]

    def locate(self, id: str, info: ModelInfo) -> KnownModel:
        """Take over where a known model lies now. Raises OtherModelError."""
        old = self._models[id]
        if old.info.fingerprint != info.fingerprint:
            raise OtherModelError(
                tr("{path} is another model than {title}", path=info.path, title=short(old.title)),
                tr("Add it as a model of its own."),
            )
        return self.reread(id, info)

    def choose(self, id: str, choices: ModelChoices) -> None:
        """Set how it is opened."""
        if choices != self._models[id].choices:
            self._replace(msgspec.structs.replace(self._models[id], choices=choices))

    def has_own(self, path: Path, choice: str) -> bool:
        """Whether this file's model does not go by the settings in that choice."""
        model = self.by_path(path)
        return model is not None and getattr(model.choices, choice) is not None

    def change_own(self, path: Path, choice: str, value: object) -> bool:
        """Change a choice that this file's model has of its own; whether it has one."""
        model = self.by_path(path)
        if model is None or not self.has_own(path, choice):
            return False
        self.choose(model.id, msgspec.structs.replace(model.choices, **{choice: value}))
        return True

    def remove(self, id: str) -> None:
        """Forget it; its files stay."""
        if self._models.pop(id, None) is not None:
            self._states.pop(id, None)
            self._save()
            self.removed.emit(id)

    def restore(self, model: KnownModel) -> None:
        """Take back what was removed; it comes last."""
        self._models[model.id] = model
        self._save()
        self.added.emit(model)
        self.look_at(model.id)

    # The disk.

    def look(self) -> None:
        """Look at the files of every model; `changed` tells what is new."""
        for id in self._models:
            self.look_at(id)

    def look_at(self, id: str) -> None:
        """Look at one model's files, if it is still known."""
        model = self._models.get(id)
        if model is None:
            return
        self._looking.run(lambda _: state_of(model), lambda state: self._take(model, state))

    def work(
        self,
        work: Callable[[Task], None],
        done: Callable[[None], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Do something with files, between looks at them."""
        self._looking.run(work, done, failed)

    def close(self) -> None:
        """Save what is not saved yet, also what could not be; no thread is left."""
        self._looking.close()
        if self._unsaved:
            self._save()
        self._saving.close(finish=True)

    def _take(self, model: KnownModel, state: ModelState) -> None:
        if self._models.get(model.id) is not model:
            return  # replaced meanwhile: looked at again then
        if self._states.get(model.id) != state:
            self._states[model.id] = state
            self.changed.emit(model)

    def _replace(self, model: KnownModel) -> None:
        self._models[model.id] = model
        self._save()
        self.changed.emit(model)

    def _save(self) -> None:
        if self._save_queued:
            return
        self._save_queued = True
        self._saving.run(self._write, failed=self._on_not_saved)

    def _write(self, task: Task) -> None:
        self._save_queued = False  # what changes from here on needs another write
        self._unsaved = True
        library_file.save(self.path, list(self._models.values()), self._keep_as)
        self._keep_as = None
        self._unsaved = False

    def _on_not_saved(self, error: Exception) -> None:
        self.failed.emit(tr("The list of models cannot be saved: {why}", why=sentence(error)))
