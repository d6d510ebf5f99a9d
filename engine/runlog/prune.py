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
        total += sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        if (n >= max_runs or total > max_bytes) and not is_running(folder):
            shutil.rmtree(folder, ignore_errors=True)
            deleted.append(folder)
    return deleted


def is_running(folder: Path) -> bool:
    """True while the process that writes the log is alive."""
    try:
        with (folder / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass  # no lock file: an old or copied log
    return False
