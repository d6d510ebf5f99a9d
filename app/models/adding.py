"""Adding: turns files and folders that a person names into known models, one after another."""

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.background import Background, Task
from app.engine_service import EngineService
from app.language import tr
from app.models.known_model import KnownModel, bare
from app.models.library import ModelLibrary
from app.models.shards import check_files, first_file, is_folder
from engine.errors import EngineError
from engine.model_info import ModelInfo

# Files beside a model that are none themselves.
_SIDECARS = ("mmproj-", "mtp-")


class Candidate(msgspec.Struct, frozen=True):
    """A file to look into; `found` in a folder, as against named by a person."""

    path: Path
    found: bool


class Problem(msgspec.Struct, frozen=True):
    """A file or folder that did not become a model, and why."""

    path: str
    why: str
    is_folder: bool = False


class Report(msgspec.Struct, frozen=True):
    """What became of everything that was named.

    Attributes:
        added: New ones.
        known: Those that were in the list already.
        copies: (path, title) of files with the content of a known model elsewhere.
        skipped: Models in folders that cannot be run.
        problems: What failed.
        cancelled: Some may not have been looked at.
    """

    added: tuple[KnownModel, ...] = ()
    known: tuple[KnownModel, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    skipped: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    cancelled: bool = False


class Adding(QObject):
    """Looks into one file at a time, each in a process of its own.

    Signals:
        progressed: args: name of the file (or folder) that is looked into, done, of how many.
        finished: Nothing is left to do. arg: Report, of everything since it began.
    """

    progressed = Signal(str, int, int)
    finished = Signal(object)

    def __init__(
        self, service: EngineService, library: ModelLibrary, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._service = service
        self._library = library
        self._background = Background("adding", self)
        self._finding: list[Task] = []
        self._waiting: deque[Candidate] = deque()
        self._current: Candidate | None = None
        self._job = -1
        self._seen: set[Path] = set()
        self._report = Report()
        service.job_done.connect(self._on_job_done)
        service.job_failed.connect(self._on_job_failed)

    @property
    def active(self) -> bool:
        """True until `finished`."""
        return bool(self._finding or self._waiting or self._current)

    def add(self, paths: Sequence[Path]) -> None:
        """Add these files, and what lies in these folders."""

        def find(task: Task) -> tuple[list[Candidate], list[Problem]]:
            return _find(paths, task)

        def found(result: tuple[list[Candidate], list[Problem]]) -> None:
            self._finding.remove(task)
            self._take_found(*result)

        self._start()
        task = self._background.run(find, found)
        self._finding.append(task)
        self.progressed.emit(paths[0].name if paths else "", 0, 0)

    def cancel(self) -> None:
        """Look into nothing more; what was added stays."""
        if not self.active:
            return
        for task in self._finding:
            task.cancel()
        self._finding.clear()
        self._waiting.clear()
        self._change(cancelled=True)
        if self._current:
            self._service.cancel_job(self._job)
        else:
            self._next()

    def close(self) -> None:
        """No thread is left."""
        for task in self._finding:
            task.cancel()
        self._background.close()

    def _start(self) -> None:
        if not self.active:
            self._seen.clear()
            self._report = Report()

    def _change(self, **fields: object) -> None:
        self._report = msgspec.structs.replace(self._report, **fields)

    def _take_found(self, candidates: list[Candidate], problems: list[Problem]) -> None:
        self._change(problems=(*self._report.problems, *problems))
        for each in candidates:
            if each.path in self._seen:
                continue  # another shard of the same model, or named twice
            self._seen.add(each.path)
            known = self._library.by_path(each.path)
            if known and not self._library.state(known.id).changed:
                self._change(known=(*self._report.known, known))
                self._library.look_at(known.id)  # its file may be back
            else:
                self._waiting.append(each)
        if self._current is None:
            self._next()

    def _next(self) -> None:
        self._current = None
        if self._waiting:
            self._current = self._waiting.popleft()
            done = len(self._seen) - len(self._waiting) - 1
            self._job = self._service.inspect(self._current.path)
            self.progressed.emit(self._current.path.name, done, len(self._seen))
        elif not self.active:
            self.finished.emit(self._report)

    def _on_job_done(self, job: int, result: object) -> None:
        if self._current is None or job != self._job or not isinstance(result, ModelInfo):
            return
        try:
            self._take(self._current, result)
        finally:  # whatever is wrong with one file, the others are looked into
            self._next()

    def _on_job_failed(self, job: int, message: str, hint: str, cancelled: bool) -> None:
        if self._current is None or job != self._job:
            return
        if not cancelled:
            self._add_problem(self._current.path, EngineError(message, hint))
        self._next()

    def _take(self, candidate: Candidate, info: ModelInfo) -> None:
        if known := self._library.by_path(Path(info.path)):
            self._change(known=(*self._report.known, self._library.reread(known.id, info)))
        elif twin := self._library.by_fingerprint(info.fingerprint):
            if self._library.state(twin.id).missing:
                self._change(known=(*self._report.known, self._library.locate(twin.id, info)))
            else:
                self._change(copies=(*self._report.copies, (info.path, twin.title)))
        elif candidate.found and not info.supported:
            why = bare(info).reason
            self._change(skipped=(*self._report.skipped, Problem(info.path, why)))
        else:
            self._change(added=(*self._report.added, self._library.add(info)))

    def _add_problem(self, path: Path, error: EngineError) -> None:
        self._change(problems=(*self._report.problems, Problem(str(path), str(error))))


def _find(paths: Sequence[Path], task: Task) -> tuple[list[Candidate], list[Problem]]:
    candidates: list[Candidate] = []
    problems: list[Problem] = []
    for path in paths:
        path = path.absolute()
        folder = is_folder(path)
        found = models_below(path, task) if folder else [path]
        if folder and not found:
            problems.append(Problem(str(path), _why_nothing(path), is_folder=True))
        for each in found:
            try:
                candidates.append(Candidate(check_files(each), folder))
            except EngineError as error:
                problems.append(Problem(str(each), str(error)))
    return candidates, problems


def _why_nothing(folder: Path) -> str:
    try:
        os.scandir(folder).close()
    except OSError as error:
        return tr("This folder cannot be read: {why}.", why=error.strerror or error)
    return tr("There is no GGUF file in this folder.")


def models_below(folder: Path, task: Task) -> list[Path]:
    """The first file of every model in a folder and its subfolders, in order of their names."""
    found: set[Path] = set()
    for place, folders, files in os.walk(folder):
        if task.cancelled:
            return []
        folders.sort()
        for name in files:
            if name.lower().endswith(".gguf") and not name.startswith(_SIDECARS):
                found.add(first_file(Path(place) / name))
    return sorted(found)
