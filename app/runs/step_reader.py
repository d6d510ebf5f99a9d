"""StepReader: the metrics of a run's steps, read in pieces: long runs need little memory."""

import contextlib
from pathlib import Path

import numpy as np

from engine import errors, trace
from engine.atomic_file import replaced
from engine.metrics import STEP_DTYPE, Steps
from engine.runlog.reader import event_files
from engine.steps_so_far import PIECE_RECORDS, StepsSoFar
from engine.trace import RECORD_DTYPE, Records


class StepReader:
    """Of one run; `read` again to have what was written since.

    Not thread-safe. What a finished run's steps were is kept beside it and read from there the next
    time.
    """

    def __init__(self, folder: Path, piece_records: int = PIECE_RECORDS) -> None:
        self._folder = folder
        self._piece_records = piece_records
        self._taken: dict[str, int] = {}  # bytes of each file
        # Pieces come large already, and what stays open is looked through at each reading.
        self._so_far = StepsSoFar(piece_records=0)

    def read(self, *, finished: bool) -> Steps:
        """The metrics of every step so far. Raises StorageError."""
        kept = self._folder / f"steps-{_events_bytes(self._folder)}.npy"
        if finished and not self._taken:
            known = _load(kept)
            if known is not None:
                return known
        try:
            for path in event_files(self._folder):
                self._take_file(path)
        except OSError as error:
            raise errors.from_os(
                error, f"The records of {self._folder.name} cannot be read"
            ) from error
        steps = self._so_far.steps()
        if finished:
            _save(kept, steps)
        return steps

    def _take_file(self, path: Path) -> None:
        taken = self._taken.get(path.name, 0)
        with path.open("rb") as file:
            file.seek(taken)
            while data := file.read(self._piece_records * RECORD_DTYPE.itemsize):
                n_whole = len(data) // RECORD_DTYPE.itemsize * RECORD_DTYPE.itemsize
                records = trace.from_disk(data)
                taken += n_whole
                self._taken[path.name] = taken
                if len(records):
                    self._so_far.take(records)
                if len(data) > n_whole:
                    return  # the last record is still being written


def records_between(folder: Path, begin_ns: int, end_ns: int) -> Records:
    """The records of a window of time. Raises StorageError."""
    found = []
    try:
        for path in event_files(folder):
            with path.open("rb") as file:
                while data := file.read(PIECE_RECORDS * RECORD_DTYPE.itemsize):
                    records = trace.from_disk(data)
                    inside = (records["end_ns"] > begin_ns) & (records["begin_ns"] < end_ns)
                    found.append(records[inside])
    except OSError as error:
        raise errors.from_os(error, f"The records of {folder.name} cannot be read") from error
    return np.concatenate(found) if found else trace.empty()


def _events_bytes(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(path.stat().st_size for path in event_files(folder))
    return 0


def _load(path: Path) -> Steps | None:
    """None when there is none, or one of another version."""
    try:
        steps: Steps = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return steps if steps.dtype == STEP_DTYPE and steps.ndim == 1 else None


def _save(path: Path, steps: Steps) -> None:
    """It is only a shortcut: a full or read-only disk is no reason to fail."""
    with contextlib.suppress(OSError):
        for old in path.parent.glob("steps-*.npy"):
            old.unlink()
        with replaced(path) as file:
            np.save(file, steps, allow_pickle=False)
