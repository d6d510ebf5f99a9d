"""Keeps a benchmark's report in a file that is whole after every run, and takes it up again."""

from pathlib import Path

import msgspec

from engine import errors
from engine.atomic_file import write_json
from engine.bench_plan import BenchPlan
from engine.bench_report import BenchReport
from engine.engine import Engine
from engine.versions import machine, versions


def save_report(report: BenchReport, path: Path) -> None:
    """Replace the file. Raises StorageError or OutOfSpaceError."""
    try:
        write_json(path, report)
    except OSError as error:
        raise errors.from_os(error, f"{path} cannot be written") from error


def load_report(path: Path) -> BenchReport | None:
    """The report in a file; None when there is no file.

    Raises InvalidRequestError when the file is something else.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=BenchReport)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.from_os(error, f"{path} cannot be read") from error
    except msgspec.MsgspecError as error:
        raise errors.InvalidRequestError(
            f"{path} exists and is no benchmark report of this version ({error})",
            "Name another file, or remove that one.",
        ) from error


def check_plan(report: BenchReport, plan: BenchPlan, path: Path) -> None:
    """Raise InvalidRequestError when the report was made by another plan."""
    for field in plan.__struct_fields__:
        before, now = getattr(report.plan, field), getattr(plan, field)
        if before != now:
            raise _refusal(path, field.replace("_", " "), _shown(before), _shown(now))


def check_engine(report: BenchReport, engine: Engine, path: Path) -> None:
    """Raise InvalidRequestError when the report is of another model, machine or set-up."""
    here = machine()
    for what, before, now in (
        ("model", report.model, engine.model.title),
        ("model's fingerprint", report.fingerprint, f"{engine.model.fingerprint:016x}"),
        ("machine", report.machine.cpu, here.cpu),
        ("number of cores", report.machine.cpus, here.cpus),
        ("system", report.machine.system, here.system),
        ("device", report.device, engine.info.device),
        ("store", report.store, engine.info.store),
        ("number of threads", report.n_threads, engine.info.n_threads),
        ("number of readers", report.n_readers, engine.options.n_readers),
        ("versions", report.versions, versions()),
    ):
        if before != now:
            raise _refusal(path, what, _shown(before), _shown(now))


def _refusal(path: Path, what: str, before: str, now: str) -> errors.InvalidRequestError:
    return errors.InvalidRequestError(
        f"{path} holds a benchmark that differs: its {what}: {before}; now: {now}",
        "Give the same arguments to go on with it, name another file, or remove that one.",
    )


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items())
    return str(value)
