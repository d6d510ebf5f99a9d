"""A move of the data folder that goes on after an interruption: nothing is lost at either place.

The old folder may have been used meanwhile, where the new disk was not there or the settings, which
say what moves where, were lost. What it has is what a person saw last, so that moves.
"""

import contextlib
import itertools
import os
import sqlite3
import stat
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from app import folders
from app.data.database import open_for_reading
from app.settings.move_plan import MovePlan, Piece, all_of, delete, repointed

_KEPT = "kept-from-an-earlier-move"
_SIDE_FILES = ("-wal", "-shm", "-journal")  # SQLite's: with their database, or worth nothing
_COARSE_NS = 2 * 10**9  # as exact as some disks keep times
_SOMETHING = (
    "SELECT EXISTS (SELECT 1 FROM message) OR EXISTS (SELECT 1 FROM task)"
    " OR EXISTS (SELECT 1 FROM conversation WHERE draft <> '')"
)


def give_way(plan: MovePlan, begun: MovePlan) -> None:
    """Remove from the new folder what is otherwise in the old one now.

    What was copied there from an old folder that is whole yet is deleted; what may be the only one
    is put into a folder beside it, one of kept_folders().
    """
    if not begun.is_whole and not plan.same_disk:
        for piece in plan.pieces:
            if not _is_copy(piece, plan):
                delete(Path(piece.target))
        return
    for pieces in _together(plan.pieces):
        if not any(os.path.lexists(p.target) and _adds(p, plan) for p in pieces):
            continue
        if any(Path(piece.source) == folders.database() for piece in pieces) and _says_nothing():
            for piece in pieces:
                delete(Path(piece.source))
            continue
        targets = [Path(p.target) for p in pieces if os.path.lexists(p.target)]
        kept = _folder_for(targets)
        for target in targets:
            target.rename(kept / target.name)


def kept_folders(target: Path) -> set[Path]:
    """Where a new data folder keeps what gave way there."""
    return set(target.glob(f"{_KEPT}-*"))


def copies(plan: MovePlan) -> list[Piece]:
    """Pieces of which the old place has nothing that the new one has not.

    Of a database all files or none: what was written last may be in a file beside it alone.
    """
    beside = [Piece(p.source + e, p.target + e, 0) for p in plan.pieces for e in _SIDE_FILES]
    pieces = {piece.source: piece for piece in (*beside, *plan.pieces)}
    found: list[Piece] = []
    for group in _together(pieces.values()):
        with contextlib.suppress(OSError):  # what cannot be looked at is none
            if not any(_adds(piece, plan) for piece in group):
                found += group
    return found


def _adds(piece: Piece, plan: MovePlan) -> bool:
    """Whether the old place has what the new one has not. Packs are built again when missed."""
    if Path(piece.target).name == folders.packs().name and os.path.lexists(piece.target):
        return False
    old, new = _stamps(Path(piece.source)), _stamps(Path(piece.target))
    return not all(_alike(old[name], new.get(name)) for name in old) and not _lists_the_same(
        piece, plan
    )


def has_files(piece: Path) -> bool:
    """Whether something is lost with it."""
    return bool(_stamps(piece))


def _is_copy(piece: Piece, plan: MovePlan) -> bool:
    old, new = _stamps(Path(piece.source)), _stamps(Path(piece.target))
    return old.keys() == new.keys() and not _adds(piece, plan)


def _alike(old: tuple[int, int], new: tuple[int, int] | None) -> bool:
    return new is not None and old[0] == new[0] and abs(old[1] - new[1]) <= _COARSE_NS


def _together(pieces: Iterable[Piece]) -> list[list[Piece]]:
    found: dict[str, list[Piece]] = {}
    for piece in pieces:
        name = piece.source
        for end in _SIDE_FILES:
            name = name.removesuffix(end)
        found.setdefault(name, []).append(piece)
    return list(found.values())


def _says_nothing() -> bool:
    """Whether the old folder's conversations are what a start makes where there are none."""
    with contextlib.suppress(sqlite3.Error), closing(open_for_reading(folders.database())) as read:
        return not read.execute(_SOMETHING).fetchone()[0]
    return False


def _folder_for(targets: list[Path]) -> Path:
    """The first that has none of them: of a database no crash may part what belongs together."""
    possible = (targets[0].with_name(f"{_KEPT}-{n}") for n in itertools.count(1))
    folder = next(f for f in possible if not any(os.path.lexists(f / t.name) for t in targets))
    folder.mkdir(exist_ok=True)
    return folder


def _lists_the_same(piece: Piece, plan: MovePlan) -> bool:
    """Of the list of models, whose paths are others in the new folder."""
    if Path(piece.source) != Path(plan.source) / folders.library().name:
        return False
    try:
        old, new = (msgspec.json.decode(Path(p).read_bytes()) for p in (piece.source, piece.target))
    except (OSError, msgspec.DecodeError):
        return False
    return bool(repointed(old, plan) == new)


def _stamps(piece: Path) -> dict[str, tuple[int, int]]:
    """Size and time of all files, which tell whether a copy is still one."""
    stamps = {}
    for path in all_of(piece) if os.path.lexists(piece) else ():
        found = path.lstat()
        if stat.S_ISREG(found.st_mode):
            stamps[str(path.relative_to(piece))] = (found.st_size, found.st_mtime_ns)
        elif not stat.S_ISDIR(found.st_mode):
            stamps[str(path.relative_to(piece))] = (0, 0)
    return stamps
