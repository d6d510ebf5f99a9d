"""Drops files from the page cache, so that runs begin cold and pay for every page they read."""

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from engine import sizes
from engine.errors import EngineError

_MOST_LEFT = 0.02  # of the files; pages in flight may stay for a moment


def drop(paths: Iterable[Path | str]) -> None:
    """Empty the page cache of these files.

    Raises EngineError when much of one stays, as when another program maps it: such pages are
    charged to nobody's limit.
    """
    for path in map(Path, paths):
        with path.open("rb") as file:
            os.fsync(file.fileno())  # a page that waits to be written is not dropped
            for _ in range(3):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if not _visible(path):
            continue
        left, total = resident_bytes(path), path.stat().st_size
        if left > _MOST_LEFT * total + (1 << 20):
            raise EngineError(
                f"{sizes.show(left)} of {path} stay in the page cache",
                "Another program has it open, or its disk is in memory: what is there already"
                " would cost nothing. Close that program, or move the file.",
            )


def resident_bytes(path: Path) -> int:
    """How much of a file is in the page cache."""
    if path.stat().st_size == 0:
        return 0
    view = np.memmap(path, np.uint8, "r")
    pages = np.zeros(-(-view.size // mmap.PAGESIZE), np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_void_p(view.ctypes.data), ctypes.c_size_t(view.size))
    if libc.mincore(*arguments, ctypes.c_void_p(pages.ctypes.data)) != 0:
        raise OSError(ctypes.get_errno(), "mincore", str(path))
    return int((pages & 1).sum()) * mmap.PAGESIZE


def _visible(path: Path) -> bool:
    """Whether Linux tells us what of it is cached: only of files that we may write (mincore(2))."""
    return os.access(path, os.W_OK) or path.stat().st_uid == os.geteuid()
