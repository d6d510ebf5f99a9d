"""What the runs of a study gave, in a file that grows by a line per run and survives any end.

`results.jsonl`: the first line says where the data comes from and how runs are made, each other
line is one run. A last line that was cut off is dropped.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from engine import errors
from engine.bench_plan import BenchCase

FORMAT = "runahead study"
VERSION = 1

Kind = Literal["measured", "simulated"]


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where all results of a study come from.

    Attributes:
        experts: The model's experts in words; record_bytes: of one expert.
        machine: In general terms; of a simulation, the machine that is described.
        source: Simulated: where the machine's figures come from.
        settings: What else must be the same for results to be comparable.
    """

    kind: Kind
    model: str
    fingerprint: str
    experts: str
    record_bytes: int
    machine: str
    source: str = ""
    settings: dict[str, str] = {}


class StepColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The measured steps, one entry each; times in ms, counts of experts."""

    step_ms: list[float]
    compute_ms: list[float]
    link_ms: list[float]
    both_ms: list[float]
    fetched: list[int]
    prefetched: list[int]
    wasted: list[int]

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[float]]) -> "StepColumns":
        """From columns of these names; times are rounded to microseconds."""
        times = ("step_ms", "compute_ms", "link_ms", "both_ms")
        found = {
            name: [round(float(n), 3) if name in times else int(n) for n in columns[name]]
            for name in cls.__struct_fields__
        }
        return msgspec.convert(found, cls)


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    Attributes:
        link_gbps: What the link gave while it was busy; 0: unknown.
        groups_of_size: Entry n: how many groups had n jobs, over the measured steps.
        seconds: What the run took, warm-up included.
    """

    case: BenchCase
    tokens_per_s: float
    hit_rate: float
    link_gbps: float
    groups_of_size: list[int]
    steps: StepColumns
    seconds: float

    def mean(self, column: str) -> float:
        """Of a column over the measured steps."""
        return float(np.mean(getattr(self.steps, column)))


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    version: int
    origin: Origin


class StudyResults:
    """The results of one study; `add` makes them last. Raises StorageError."""

    def __init__(self, path: Path, origin: Origin, runs: list[CaseResult]):
        self.path = path
        self.origin = origin
        self._runs = {run.case: run for run in runs}

    @classmethod
    def open(cls, path: Path, origin: Origin) -> "StudyResults":
        """Go on with a file, or begin one.

        Raises InvalidRequestError when the file holds another study.
        """
        if path.exists():
            found = cls.load(path)
            _check_same(found.origin, origin, path)
            return found
        header = _Header(format=FORMAT, version=VERSION, origin=origin)
        _append(path, msgspec.json.encode(header) + b"\n")
        return cls(path, origin, [])

    @classmethod
    def load(cls, path: Path) -> "StudyResults":
        """Read a file. Raises StorageError, or InvalidRequestError when it is something else."""
        try:
            data = path.read_bytes()
            whole = data[: data.rfind(b"\n") + 1]
            if len(whole) < len(data):  # a crash in the middle of a line
                os.truncate(path, len(whole))
        except OSError as error:
            raise errors.from_os(error, f"{path} cannot be read") from error
        lines = whole.splitlines()
        try:
            header = msgspec.json.decode(lines[0] if lines else b"", type=_Header)
            if (header.format, header.version) != (FORMAT, VERSION):
                raise msgspec.ValidationError(f"it is {header.format!r} {header.version}")
            runs = [msgspec.json.decode(line, type=CaseResult) for line in lines[1:]]
        except msgspec.MsgspecError as error:
            raise errors.InvalidRequestError(
                f"{path} holds no study of this version ({error})", "Name another folder."
            ) from error
        return cls(path, header.origin, runs)

    def add(self, run: CaseResult) -> None:
        """Keep one result, on disk too."""
        _append(self.path, msgspec.json.encode(run) + b"\n")
        self._runs[run.case] = run

    @property
    def runs(self) -> list[CaseResult]:
        """All of them, in the order in which they were made."""
        return list(self._runs.values())

    def get(self, case: BenchCase) -> CaseResult | None:
        """The result of one run."""
        return self._runs.get(case)


def _append(path: Path, line: bytes) -> None:
    try:
        with path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise errors.from_os(error, f"{path} cannot be written") from error


def _check_same(before: Origin, now: Origin, path: Path) -> None:
    pairs = [
        (name, str(getattr(before, name)), str(getattr(now, name)))
        for name in Origin.__struct_fields__
        if name not in ("settings", "source")
    ]
    names = dict.fromkeys((*before.settings, *now.settings))
    pairs += [
        (name, before.settings.get(name, "not said"), now.settings.get(name, "not said"))
        for name in names
    ]
    for name, old, new in pairs:
        if old != new:
            raise errors.InvalidRequestError(
                f"{path.parent} holds a study that differs: its {name}: {old}; now: {new}",
                "Give the same arguments to go on with it, or another --out.",
            )
