"""Packing: builds expert packs, and tells how fast and how long."""

import time
from collections import deque
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.background import Background
from app.engine_service import EngineService
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from engine.pack import PackFile, pack_path
from engine.pack_leftovers import remove_leftovers

# Speed is that of the last seconds: what a disk's cache takes at first says little.
SPEED_OVER_S = 8.0


class PackProgress(msgspec.Struct, frozen=True):
    """Bytes; `per_s` and `left_s` are None until there is something to go by."""

    done: int
    total: int
    per_s: float | None = None
    left_s: float | None = None


class Meter:
    """Speed and time left, from what is told of a job now and then."""

    def __init__(self) -> None:
        self._told: deque[tuple[float, int]] = deque()

    def at(self, now_s: float, done: int, total: int) -> PackProgress:
        """Take how far it is."""
        told = self._told
        if told and done < told[-1][1]:
            told.clear()  # another stage
        told.append((now_s, done))
        while len(told) > 2 and now_s - told[0][0] > SPEED_OVER_S:
            told.popleft()
        seconds, n_bytes = now_s - told[0][0], done - told[0][1]
        if seconds < 0.5 or n_bytes <= 0:
            return PackProgress(done, total)
        per_s = n_bytes / seconds
        return PackProgress(done, total, per_s, max(0, total - done) / per_s)


class Packing(QObject):
    """One job per model; several go on at once when a person starts several.

    Signals:
        changed: Started, further on or ended. arg: the model's id.
        failed: It ended without a pack. args: the model's id, what happened, what to try.
    """

    changed = Signal(str)
    failed = Signal(str, str, str)

    def __init__(
        self, service: EngineService, library: ModelLibrary, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._service = service
        self._library = library
        self._background = Background("packing", self)
        self._jobs: dict[int, str] = {}  # job -> model
        self._paths: dict[int, Path] = {}  # job -> pack
        self._meters: dict[int, Meter] = {}
        self._progress: dict[str, PackProgress] = {}  # of every model that is being packed
        service.job_progressed.connect(self._on_progressed)
        service.job_done.connect(self._on_done)
        service.job_failed.connect(self._on_failed)

    def progress(self, id: str) -> PackProgress | None:
        """How far a model's pack is; None when none is being built."""
        return self._progress.get(id)

    def start(self, model: KnownModel) -> None:
        """Build its pack; where the disk is too small for it `failed` says so."""
        if model.id in self._progress:
            return
        path = pack_path(model.info)
        job = self._service.pack(model.path, path)
        self._jobs[job] = model.id
        self._paths[job] = path
        self._meters[job] = Meter()
        self._progress[model.id] = PackProgress(0, 0)
        self.changed.emit(model.id)

    def cancel(self, id: str) -> None:
        """Stop building a model's pack; nothing of it is left."""
        for job, model in self._jobs.items():
            if model == id:
                self._service.cancel_job(job)

    def close(self) -> None:
        """No thread is left."""
        self._background.close()

    def _end(self, id: str, message: str = "", hint: str = "") -> None:
        self._progress.pop(id, None)
        if message:
            self.failed.emit(id, message, hint)
        self.changed.emit(id)

    def _on_progressed(self, job: int, stage: str, done: int, total: int) -> None:
        if (id := self._jobs.get(job)) is not None:
            self._progress[id] = self._meters[job].at(time.monotonic(), done, total)
            self.changed.emit(id)

    def _on_done(self, job: int, result: object) -> None:
        if (id := self._forget(job)) is not None and isinstance(result, PackFile):
            self._library.look_at(id)
            self._end(id)

    def _on_failed(self, job: int, message: str, hint: str, cancelled: bool) -> None:
        path = self._paths.get(job)
        if (id := self._forget(job)) is not None:
            if path is not None:  # a process that was killed has cleared nothing up
                self._background.run(lambda _: remove_leftovers(path))
            self._library.look_at(id)
            self._end(id, "" if cancelled else message, hint)

    def _forget(self, job: int) -> str | None:
        self._meters.pop(job, None)
        self._paths.pop(job, None)
        return self._jobs.pop(job, None)
