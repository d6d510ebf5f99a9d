"""What the command line shows: tables and text on stdout, progress and notices on stderr."""

import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from engine import native, sizes
from engine.cli.progress_lines import ProgressLines

# Everything that could steer a terminal, but for tab and newline.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


# Of tables in files and pipes; a terminal has its own width.
_WIDTH = 140


def stdout() -> Console:
    """A console on today's stdout."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)


def stderr() -> Console:
    """A console on today's stderr."""
    return Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _WIDTH)


def visible(text: str) -> str:
    """A model's text without control characters: it must not steer the terminal."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def plain(text: str) -> Text:
    """Text of a model or a file for a table: shown as it is, neither markup nor control."""
    return Text(visible(text))


def as_json(value: Any) -> str:
    """`value` as JSON to be read, in which what could steer the terminal is escaped.

    All that is not ASCII is, too, where stdout's encoding cannot write it.
    """
    text = msgspec.json.format(msgspec.json.encode(value)).decode()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_anything() -> None:
    """What stdout's encoding cannot write, as a reply's emoji, is escaped: no error ends it."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def note(text: str) -> None:
    """Tell something that a person should know, on stderr."""
    stderr().print(f"note: {visible(text)}", markup=False, soft_wrap=True)


def progress_bars() -> Progress:
    """Bars on stderr that vanish when done; lines now and then when stderr is no terminal."""
    if not sys.stderr.isatty():
        return ProgressLines(stderr())
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[amount]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=stderr(),
        transient=True,
    )


@contextmanager
def native_progress(names: dict[str, str] | None = None) -> Iterator[native.Progress]:
    """One bar per stage of a native job; `names` says in words what a stage is."""
    tasks: dict[str, TaskID] = {}
    with progress_bars() as bars:

        def progress(stage: str, done: int, total: int) -> bool:
            if stage not in tasks:
                name = (names or {}).get(stage, stage)
                tasks[stage] = bars.add_task(name, total=total, amount="")
            amount = f"{sizes.show(done)} of {sizes.show(total)}" if total > 4096 else ""
            bars.update(tasks[stage], completed=done, total=total, amount=amount)
            return True

        yield progress
