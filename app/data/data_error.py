"""DataError: why the database of conversations cannot be used, as sentences for a person."""

import sqlite3
from pathlib import Path
from typing import Literal

from engine.errors import EngineError

Kind = Literal["newer", "in use", "damaged", "foreign", "storage"]

_FULL = {sqlite3.SQLITE_FULL}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_REFUSED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class DataError(EngineError):
    """The database cannot be opened or read; the file is as it was.

    Attributes:
        kind: "newer": written by a newer Runahead; "in use": another process has it; "damaged": may
            be moved aside when the user agrees (`damaged.move_aside`); "foreign": it belongs to
            another program; "storage": the disk or its permissions.
    """

    code = "data"

    def __init__(self, kind: Kind, message: str, hint: str = ""):
        super().__init__(message, hint)
        self.kind = kind


def damaged(path: Path, detail: str) -> DataError:
    """The error for a file that SQLite cannot make sense of."""
    return DataError(
        "damaged",
        f"The conversations file {path} is damaged ({detail})",
        "It can be moved aside to start with an empty one; nothing of it is deleted.",
    )


def from_sqlite(error: sqlite3.Error | UnicodeDecodeError, path: Path, what: str) -> DataError:
    """The error for a failed call of SQLite; `what` is as in "could not be saved".

    Of a damaged file SQLite may say what is wrong in bytes that are no text: UnicodeDecodeError.
    """
    if isinstance(error, UnicodeDecodeError):
        return damaged(path, error.object.decode("utf-8", "replace"))
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED:
        return damaged(path, str(error))
    if code in _FULL:
        return DataError(
            "storage", f"Conversations {what}: the disk of {path} is full", "Free some space on it."
        )
    if code in _REFUSED:
        hint = "Check that the folder exists and may be written to."
        return DataError("storage", f"Conversations {what} ({path}: {error})", hint)
    if code in _BUSY:
        hint = "Close whatever else has it open."
        return DataError("in use", f"Conversations {what}: another program uses {path}", hint)
    return DataError(
        "storage", f"Conversations {what} ({path}: {error})", "Check that its disk is connected."
    )
