"""RunLog: a run log on disk, for reading."""

import contextlib
from pathlib import Path

import msgspec
import numpy as np

from engine import errors, folders, metrics, trace
from engine.runlog.meta import Mark, RunMeta
from engine.trace import Records


class RunLog:
    """One run. Raises ModelFileError when the folder holds no readable log."""

    def __init__(self, folder: Path):
        self.folder = folder
        try:
            data = (folder / "meta.json").read_bytes()
            self.meta = msgspec.json.decode(data, type=RunMeta)
        except OSError as error:
            raise errors.from_os(error, f"{folder} is no run log") from error
        except (msgspec.MsgspecError, RecursionError) as error:
            raise errors.ModelFileError(
                f"{folder / 'meta.json'} cannot be read: {error}", "The run log is damaged."
            ) from error
        if self.meta.format != 1:
            raise errors.ModelFileError(
                f"{folder.name} has format {self.meta.format}; this version reads format 1",
                "Open it with a newer Runahead.",
            )

    def records(self) -> Records:
        """All records that were kept, in the order in which they were written."""
        try:
            chunks = [trace.from_disk(path.read_bytes()) for path in event_files(self.folder)]
        except OSError as error:
            raise errors.from_os(
                error, f"The records of {self.folder.name} cannot be read"
            ) from error
        return np.concatenate(chunks) if chunks else trace.empty()

    def steps(self) -> metrics.Steps:
        """The metrics of every step."""
        return metrics.step_table(self.records())

    def marks(self) -> list[Mark]:
        """Changes while running; what a crash or a disk left of a line is left out."""
        try:
            lines = (self.folder / "marks.jsonl").read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise errors.from_os(
                error, f"The marks of {self.folder.name} cannot be read"
            ) from error
        marks = []
        for line in lines:
            with contextlib.suppress(msgspec.MsgspecError, RecursionError):
                marks.append(msgspec.json.decode(line, type=Mark))
        return marks


def run_folders(folder: Path | None = None) -> list[Path]:
    """Every run log's folder, newest first."""
    runs = folder or folders.run_logs()
    if not runs.is_dir():
        return []
    logs = [each for each in runs.iterdir() if _is_log(each)]
    return sorted(logs, key=lambda each: each.name, reverse=True)


def event_files(folder: Path) -> list[Path]:
    """The files of a run's records in their order, also past events-9999: a run may take days."""
    return sorted(folder.glob("events-*.bin"), key=lambda path: (len(path.name), path.name))


def _is_log(folder: Path) -> bool:
    try:
        return (folder / "meta.json").is_file()
    except OSError:
        return False  # nobody may read it
