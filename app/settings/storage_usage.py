"""What Runahead's files take, and what of it can go. Slow disks make these calls slow."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from app import folders
from engine import errors
from engine.pack_leftovers import leftovers
from engine.runlog.prune import prune


class Use(msgspec.Struct, frozen=True):
    """Files of one kind: how many, and their bytes on the disk."""

    n: int = 0
    n_bytes: int = 0


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in the data folder.

    Attributes:
        unused_packs: Packs that no known model uses, and unfinished ones; part of `packs`.
        free_bytes: What the disk of the data folder has left.
    """

    conversations: Use
    packs: Use
    unused_packs: Use
    runs: Use
    crash_reports: Use
    free_bytes: int

    @property
    def total_bytes(self) -> int:
        """Of all kinds together."""
        kinds = (self.conversations, self.packs, self.runs, self.crash_reports)
        return sum(kind.n_bytes for kind in kinds)


class Freed(msgspec.Struct, frozen=True):
    """What a clean-up has removed, and sentences about what it could not."""

    n: int
    n_bytes: int
    problems: tuple[str, ...] = ()


def measure(packs_in_use: frozenset[Path]) -> Usage:
    """Look at the disk."""
    database = folders.database()
    packs = _files(folders.packs())
    return Usage(
        conversations=_use(database.parent.glob(database.name + "*")),
        packs=_use(packs),
        unused_packs=_use(unused_packs(packs_in_use)),
        runs=_runs(),
        crash_reports=crash_reports(),
        free_bytes=_free_bytes(folders.data()),
    )


def unused_packs(packs_in_use: frozenset[Path]) -> list[Path]:
    """Packs of models that are not known, and what unfinished ones have left."""
    finished = [path for path in _files(folders.packs()) if path.suffix == ".pack"]
    found = (*finished, *leftovers(folders.packs()))
    return [path for path in found if path not in packs_in_use]


def remove_unused_packs(packs_in_use: frozenset[Path]) -> Freed:
    """Delete them; they are built again when their model is loaded again."""
    return _remove(unused_packs(packs_in_use))


def crash_reports() -> Use:
    """How many there are."""
    return _use(_crash_reports())


def remove_crash_reports() -> Freed:
    """Delete all of them."""
    return _remove(_crash_reports())


def remove_old_runs(max_runs: int, max_bytes: int) -> Freed:
    """Delete the oldest run logs beyond these bounds; 0 runs: all but those that go on."""
    if not folders.run_logs().is_dir():
        return Freed(0, 0)
    before = _runs()
    deleted = prune(folders.run_logs(), max_runs, max_bytes)
    stayed = [f"{path} could not be deleted." for path in deleted if path.exists()]
    return Freed(len(deleted) - len(stayed), before.n_bytes - _runs().n_bytes, tuple(stayed))


def old_runs(max_runs: int, max_bytes: int) -> Use:
    """What `remove_old_runs` would delete, of runs that have ended."""
    total = n = n_bytes = 0
    for place, folder in enumerate(sorted(_run_folders(), reverse=True)):
        size = sum(_size(path) for path in _files(folder))
        total += size
        if place >= max_runs or total > max_bytes:
            n, n_bytes = n + 1, n_bytes + size
    return Use(n, n_bytes)


def _remove(paths: Iterable[Path]) -> Freed:
    n = n_bytes = 0
    problems = []
    for path in paths:
        size = _size(path)
        try:
            path.unlink()
        except OSError as error:
            problems.append(str(errors.from_os(error, f"{path.name} could not be deleted")))
        else:
            n, n_bytes = n + 1, n_bytes + size
    return Freed(n, n_bytes, tuple(problems))


def _crash_reports() -> list[Path]:
    """Whole ones: the file that waits for a crash of this very run is none yet."""
    return [path for path in _files(folders.crash_reports()) if path.name.startswith("crash-")]


def _runs() -> Use:
    found = _run_folders()
    return Use(len(found), sum(_size(path) for folder in found for path in _files(folder)))


def _run_folders() -> list[Path]:
    return _listed(folders.run_logs(), lambda path: (path / "meta.json").is_file())


def _files(folder: Path) -> list[Path]:
    return _listed(folder, Path.is_file)


def _listed(folder: Path, wanted: Callable[[Path], bool]) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if wanted(path))
    except OSError:
        return []  # not there yet, or not to be read: nothing of it can be counted


def _use(paths: Iterable[Path]) -> Use:
    found = list(paths)
    return Use(len(found), sum(_size(path) for path in found))


def _size(path: Path) -> int:
    try:
        return path.stat().st_blocks * 512  # what deleting gives back, also of sparse files
    except OSError:
        return 0


def _free_bytes(folder: Path) -> int:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
