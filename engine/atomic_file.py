"""Files that are replaced whole: nobody, even after a crash, ever sees a part of one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of `path` unless something is raised."""
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by these bytes."""
    with replaced(path) as file:
        file.write(data)


def write_json(path: Path, value: object) -> None:
    """Replace a file by a value that msgspec encodes, laid out for people."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(value)) + b"\n")
