"""Files that are replaced whole: nobody, even after a crash, ever sees a part of one."""

import glob
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of `path` unless something is raised.

    Who may read and write the file stays as it was, and so does a link that leads to it.
    """
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    partial = path.with_name(f"{_prefix(path)}{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(partial, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:  # also what the process's mask would take away
                partial.chmod(mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def partials(path: Path) -> list[Path]:
    """What is being written to replace `path`, and what a killed process left of that."""
    path = path.resolve()
    return list(path.parent.glob(glob.escape(_prefix(path)) + "*"))


def _prefix(path: Path) -> str:
    return f".{path.name}-"


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by these bytes."""
    with replaced(path) as file:
        file.write(data)


def write_json(path: Path, value: object) -> None:
    """Replace a file by a value that msgspec encodes, laid out for people."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(value)) + b"\n")


def sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut; not all systems let a folder be opened."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
