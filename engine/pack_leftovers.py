"""What a packing that was killed has left: files as large as packs, which nobody can use.

native/store/pack_writer.cpp names such files and holds a lock on them while it lives. It clears up
itself when it writes the same pack again; but first there must be room for that.
"""

import contextlib
import fcntl
import glob
import os
from pathlib import Path


def leftovers(folder: Path, pack: str = "") -> list[Path]:
    """Of the pack of that name, or of all; not what is being written."""
    name = glob.escape(pack) if pack else "*.pack"
    try:
        return sorted(path for path in folder.glob(f"{name}.tmp-*") if _is_left(path))
    except OSError:
        return []  # not to be read: nothing of it can be deleted either


def remove_leftovers(pack: Path) -> None:
    """Delete those of a pack; what cannot be deleted stays."""
    for path in leftovers(pack.parent, pack.name):
        with contextlib.suppress(OSError):
            path.unlink()


def _is_left(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False  # its writer lives, or the file system knows no locks
    finally:
        os.close(handle)
    return True
