"""What a packing that was killed has left: files as large as packs, which nobody can use.

native/store/pack_writer.cpp names such files and holds a lock on them while it lives. It clears up
itself when it writes the same pack again; but first there must be room for that.
"""

import contextlib
import fcntl
import glob
import os
from collections.abc import Iterator
from pathlib import Path


def leftovers(folder: Path) -> list[Path]:
    """Of all packs; not what is being written."""
    return [path for path in _unfinished(folder, "*.pack") if _is_left(path)]


def remove_leftovers(pack: Path) -> None:
    """Delete those of a pack; what cannot be deleted stays."""
    for path in _unfinished(pack.parent, glob.escape(pack.name)):
        with contextlib.suppress(OSError), _held(path):
            path.unlink()


def _unfinished(folder: Path, packs: str) -> list[Path]:
    try:
        return sorted(folder.glob(f"{packs}.tmp-*"))
    except OSError:
        return []  # not to be read: nothing of it can be deleted either


def _is_left(path: Path) -> bool:
    with contextlib.suppress(OSError), _held(path):
        return True
    return False


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Meanwhile no writer, which may just have made it, takes it for its own.

    Raises OSError where a writer has it, or the file system knows no locks.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
