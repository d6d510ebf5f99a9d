"""How much Linux reads around a page that a mapping misses: a setting of the disk, for everybody.

Distributions mostly have 128 KiB, servers and virtual machines up to many MiB, which makes a model
that is mapped and larger than memory slow: each miss then reads far more than it needs.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import EngineError

_DEVICES = Path("/sys/dev/block")


def read_ahead_kb(path: Path, devices: Path = _DEVICES) -> int:
    """Of the disk that holds a file; 0 where Linux does not tell."""
    file = _setting(path, devices)
    return int(file.read_text()) if file else 0


@contextmanager
def set_read_ahead(path: Path, kb: int, devices: Path = _DEVICES) -> Iterator[None]:
    """Another one for the while; it holds for files that are opened meanwhile. 0: leave it.

    Raises EngineError where it cannot be changed.
    """
    if kb == 0:
        yield
        return
    file = _setting(path, devices)
    if file is None:
        raise EngineError(f"The disk of {path} has no read-ahead that could be set")
    before = file.read_text()
    try:
        file.write_text(str(kb))
    except OSError as error:
        raise EngineError(
            f"The read-ahead of {path}'s disk cannot be set: {error.strerror}",
            "Run the command as root, or leave out --read-ahead.",
        ) from error
    try:
        yield
    finally:
        file.write_text(before)


def _setting(path: Path, devices: Path) -> Path | None:
    number = path.stat().st_dev
    device = (devices / f"{os.major(number)}:{os.minor(number)}").resolve()
    for folder in (device, device.parent):  # a partition has its disk's
        file = folder / "queue" / "read_ahead_kb"
        if file.exists():
            return file
    return None
