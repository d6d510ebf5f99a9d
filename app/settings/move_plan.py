"""What moves with the data folder, and what is done with a piece of it."""

import os
import shutil
from pathlib import Path

import msgspec


class Piece(msgspec.Struct, frozen=True):
    """A file or folder that moves."""

    source: str
    target: str
    n_bytes: int


class MovePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What would move; `problems` are sentences about why it cannot.

    `is_whole`: all of it has come to the new folder, and the old pieces may be gone already.
    """

    source: str
    target: str
    pieces: tuple[Piece, ...] = ()
    problems: tuple[str, ...] = ()
    same_disk: bool = False
    is_whole: bool = False

    @property
    def n_bytes(self) -> int:
        """Of all pieces."""
        return sum(piece.n_bytes for piece in self.pieces)


def repointed(value: object, plan: MovePlan, *, back: bool = False) -> object:
    """`value` with each text in it that is a path of the old folder being one of the new."""
    if isinstance(value, dict):
        return {key: repointed(each, plan, back=back) for key, each in value.items()}
    if isinstance(value, list):
        return [repointed(each, plan, back=back) for each in value]
    if isinstance(value, str):
        for piece in plan.pieces:
            old, new = (piece.target, piece.source) if back else (piece.source, piece.target)
            if value == old or value.startswith(old + os.sep):
                return new + value[len(old) :]
    return value


def all_of(piece: Path) -> list[Path]:
    """It and all below it, parents first. Links are not followed: they move as links."""

    def fail(error: OSError) -> None:
        if not isinstance(error, PermissionError):  # what may not be read is not deleted either
            raise error

    found = [piece]
    if piece.is_dir() and not piece.is_symlink():
        for place, names, files in os.walk(piece, onerror=fail):
            found += [Path(place) / name for name in (*names, *files)]
    return found


def delete(path: Path) -> None:
    """It and all below it; a link itself."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
