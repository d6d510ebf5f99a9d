"""Keeps the folder of run logs bounded: the newest stay, running ones always."""

import fcntl
import shutil
from pathlib import Path

from engine.runlog.reader import run_folders

MAX_RUNS = 50
MAX_TOTAL_BYTES = 10**9


def prune(runs: Path, max_runs: int = MAX_RUNS, max_bytes: int = MAX_TOTAL_BYTES) -> list[Path]:
    """Delete the oldest finished run logs beyond the bounds; returns what was deleted."""
    deleted = []
    total = 0
    for n, folder in enumerate(run_folders(runs)):
        total += _bytes(folder)
        if (n >= max_runs or total > max_bytes) and not is_running(folder):
            shutil.rmtree(folder, ignore_errors=True)
            deleted.append(folder)
    return deleted


def is_running(folder: Path) -> bool:
    """True while the process that writes the log is alive."""
    try:
        with (folder / "lock").open("rb") as lock:
            # Shared: two who ask at once do not hear each other, and a network disk gives an
            # exclusive one only to those who may write.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass  # no lock file: an old or copied log
    return False


def _bytes(folder: Path) -> int:
    """What can be counted: another process may be deleting it, or nobody may read it."""
    try:
        return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    except OSError:
        return 0
