"""RunIndex: every run log on this computer, read in a thread and kept in memory."""

import shutil
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.background import Background, Task, sentence
from app.language import tr
from app.runs.picture import Picture, picture_of
from app.runs.run_summary import RunSummary, read_summary, with_steps
from app.runs.step_reader import StepReader, records_between
from engine import errors, folders
from engine.metrics import Steps
from engine.runlog.prune import is_running, prune
from engine.runlog.reader import run_folders

KEPT_STEPS = 12  # runs that were looked at, whose steps are kept in memory


class RunIndex(QObject):
    """Newest first. First the small files of every run are read, then, one by one, its steps.

    Signals:
        listed: Runs came or went.
        changed: More is known of a run. arg: RunSummary.
        steps_arrived: What `want_steps` asked for. args: name, Steps.
        picture_arrived: What `want_picture` asked for. args: name, Picture.
        failed: Something could not be read or deleted. arg: a sentence.
        pruned: Old runs were deleted. arg: how many.
    """

    listed = Signal()
    changed = Signal(object)
    steps_arrived = Signal(str, object)
    picture_arrived = Signal(str, object)
    failed = Signal(str)
    pruned = Signal(int)

    def __init__(self, folder: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = folder or folders.run_logs()
        self._runs: dict[str, RunSummary] = {}
        self._steps: OrderedDict[str, Steps] = OrderedDict()
        self._readers: dict[str, StepReader] = {}  # of running ones, for the first thread only
        self._background = Background("runs", self)  # the list and figures
        self._foreground = Background("runs-shown", self)  # what a person looks at and waits for
        self._listing: Task | None = None
        self._picturing: Task | None = None

    @property
    def folder(self) -> Path:
        """Where the run logs are."""
        return self._folder

    def all(self) -> list[RunSummary]:
        """Newest first."""
        return list(self._runs.values())

    def get(self, name: str) -> RunSummary | None:
        """None when there is none of that name."""
        return self._runs.get(name)

    def steps(self, name: str) -> Steps | None:
        """None until they have been read."""
        return self._steps.get(name)

    def refresh(self, keep_runs: int, keep_bytes: int) -> None:
        """Look again; the oldest beyond these bounds are deleted first."""
        if self._listing is not None:
            return

        def look(task: Task) -> tuple[list[RunSummary], int]:
            gone = prune(self._folder, keep_runs, keep_bytes)
            return [read_summary(each) for each in run_folders(self._folder)], len(gone)

        self._listing = self._background.run(look, self._on_listed, self._on_not_listed)

    def want_steps(self, name: str) -> None:
        """Read a run's steps soon."""
        run = self._runs.get(name)
        if run is None or run.state == "damaged":
            return
        if name in self._steps and run.state != "running":
            self._steps.move_to_end(name)
            self.steps_arrived.emit(name, self._steps[name])
            return
        self._read_steps(run, wanted=True)

    def want_picture(self, name: str, first: int, count: int) -> None:
        """Draw `count` steps from the one at place `first` on; an older wish is forgotten."""
        steps = self._steps.get(name)
        run = self._runs.get(name)
        if self._picturing:
            self._picturing.cancel()
        if run is None or steps is None or not len(steps):
            return
        chosen = steps[max(0, first) : first + count]
        if not len(chosen):
            return

        def draw(task: Task) -> Picture:
            begin, end = int(chosen["begin_ns"].min()), int(chosen["end_ns"].max())
            return picture_of(records_between(run.folder, begin, end), chosen)

        self._picturing = self._foreground.run(
            draw, lambda picture: self.picture_arrived.emit(name, picture), self._on_failed
        )

    def delete(self, names: Sequence[str]) -> None:
        """Delete run logs; running ones stay."""
        runs = [run for name in names if (run := self._runs.get(name))]

        def work(task: Task) -> list[str]:
            return [run.name for run in runs if _delete(run)]

        def done(deleted: list[str]) -> None:
            for name in deleted:
                self._runs.pop(name, None)
                self._steps.pop(name, None)
            self.listed.emit()

        self._foreground.run(work, done, self._on_failed)

    def close(self) -> None:
        """No thread is left."""
        self._background.close()
        self._foreground.close()

    def _on_listed(self, found: tuple[list[RunSummary], int]) -> None:
        self._listing = None
        runs, n_gone = found
        old, self._runs = self._runs, {}
        for run in runs:
            known = old.get(run.name)
            same = known is not None and _same(known, run)
            self._runs[run.name] = known if known and same else _keeping_figures(run, known)
        for name in [n for n in self._readers if not self._is_running(n)]:
            del self._readers[name]
        self.listed.emit()
        if n_gone:
            self.pruned.emit(n_gone)
        for run in runs:
            if self._runs[run.name] is not old.get(run.name) and run.state != "damaged":
                self._read_steps(run, wanted=False)

    def _is_running(self, name: str) -> bool:
        run = self._runs.get(name)
        return run is not None and run.state == "running"

    def _on_not_listed(self, error: Exception) -> None:
        self._listing = None
        self._on_failed(error)

    def _read_steps(self, run: RunSummary, *, wanted: bool) -> None:
        """`wanted`: somebody waits for them, and they are kept; else only for the figures."""
        # A running run has one reader, which belongs to one thread.
        urgent = wanted and run.state != "running"
        background = self._foreground if urgent else self._background

        def read(task: Task) -> Steps:
            if run.state == "running":
                reader = self._readers.setdefault(run.name, StepReader(run.folder))
                return reader.read(finished=False)
            return StepReader(run.folder).read(finished=True)

        def failed(error: Exception) -> None:
            if current := self._runs.get(run.name):
                damaged = msgspec.structs.replace(current, state="damaged", error=sentence(error))
                self._runs[run.name] = damaged
                self.changed.emit(damaged)

        background.run(read, lambda steps: self._take(run, steps, wanted=wanted), failed)

    def _take(self, run: RunSummary, steps: Steps, *, wanted: bool) -> None:
        current = self._runs.get(run.name)
        if current is None:
            return
        if wanted or run.name in self._steps:
            self._steps[run.name] = steps
            self._steps.move_to_end(run.name)
            while len(self._steps) > KEPT_STEPS:
                self._steps.popitem(last=False)
        summary = with_steps(current, steps)
        if summary != current:
            self._runs[run.name] = summary
            self.changed.emit(summary)
        if wanted or run.name in self._steps:
            self.steps_arrived.emit(run.name, steps)

    def _on_failed(self, error: Exception) -> None:
        self.failed.emit(sentence(error))


def _same(known: RunSummary, run: RunSummary) -> bool:
    """Whether there is nothing new to read."""
    if known.n_bytes != run.n_bytes:
        return False
    return bool(known.figures and known.state == run.state) or known.state == "damaged"


def _keeping_figures(run: RunSummary, known: RunSummary | None) -> RunSummary:
    """The new summary, with the old figures until the new ones are there."""
    if known is None:
        return run
    return msgspec.structs.replace(
        run, figures=known.figures, decode_per_s=known.decode_per_s, requests=known.requests
    )


def _delete(run: RunSummary) -> bool:
    """False when it is running. Raises StorageError."""
    if is_running(run.folder):
        return False
    try:
        shutil.rmtree(run.folder)
    except FileNotFoundError:
        pass  # someone else was faster
    except OSError as error:
        raise errors.from_os(error, tr("{name} could not be deleted", name=run.name)) from error
    return True
