"""Exports a run log to a file, in the format that its name or the caller asks for."""

import io
from pathlib import Path
from typing import IO, Literal

from engine import errors
from engine.atomic_file import replaced
from engine.runlog.chrome_trace import write_chrome_trace
from engine.runlog.jsonl import write_jsonl
from engine.runlog.reader import RunLog
from engine.runlog.steps_csv import write_steps_csv

Format = Literal["jsonl", "csv", "chrome", "png"]
SUFFIXES: dict[Format, str] = {
    "jsonl": ".jsonl",
    "csv": ".csv",
    "chrome": ".json",
    "png": ".png",
}


def format_of(path: Path) -> Format:
    """The format that a file's name means. Raises InvalidRequestError."""
    for form, suffix in SUFFIXES.items():
        if path.suffix.lower() == suffix:
            return form
    raise errors.InvalidRequestError(
        f"{path.name} does not say its format: end it in {', '.join(SUFFIXES.values())}"
    )


def export(
    log: RunLog, path: Path, form: Format, *, n_steps: int = 2, first_step: int | None = None
) -> int:
    """Write the export whole or not at all; returns the events, steps or pictured steps in it.

    `n_steps` and `first_step` are for pictures, see write_timeline. Raises StorageError, and
    InvalidRequestError when there is nothing to export.
    """
    try:
        with replaced(path) as file:
            n = _write(log, file, form, n_steps, first_step)
            if n == 0:
                raise errors.InvalidRequestError(f"{log.folder.name} holds no whole step yet")
    except OSError as error:
        raise errors.from_os(error, f"{path} cannot be written") from error
    return n


def _write(log: RunLog, file: IO[bytes], form: Format, n_steps: int, first_step: int | None) -> int:
    if form == "jsonl":
        return write_jsonl(log, file)
    if form == "csv":
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            return write_steps_csv(log.steps(), text)
        finally:
            text.detach()  # the file stays open
    if form == "chrome":
        return write_chrome_trace(log, file)
    # matplotlib takes a second to load: only for pictures
    from engine.runlog.timeline import write_timeline

    title = log.meta.model.title
    return write_timeline(log.records(), file, title=title, n_steps=n_steps, first_step=first_step)
