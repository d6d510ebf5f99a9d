"""Moving the data folder: planned with all reasons against it, done so that nothing can be lost.

A journal in the new folder lists what moves. Each piece comes to its new place whole (renamed, or
copied under another name, synced, then renamed), then the settings name the new folder, then the
old pieces go. Whoever starts after a crash finds the journal and goes on; giving up moves all of it
back. Nothing may use the folder meanwhile, so this is done before the window opens.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from app import folders
from app.language import tr
from app.settings.move_again import copies, give_way, has_files
from app.settings.move_plan import MovePlan, Piece, all_of, delete, repointed
from engine import errors, sizes
from engine.atomic_file import sync_folder, write_json

# Left free on the new disk.
SPARE_BYTES = 1 << 30

_JOURNAL = ".runahead-move.json"
_CHUNK_BYTES = 8 << 20

Progress = Callable[[int, int], bool]  # bytes done and in all; False: stop


def plan_move(target: Path) -> MovePlan:
    """Look at what lies where; changes nothing."""
    target = folders.named(str(target), tr("The new data folder"))
    source, target = folders.data(), target.resolve()
    pieces = _pieces(source, target)
    if begun := _journal_of(target, source):
        return _renewed(begun, pieces)
    parent = _nearest(target)
    plan = MovePlan(
        source=str(source),
        target=str(target),
        pieces=pieces,
        same_disk=_on_one_disk(pieces, parent),
    )
    return msgspec.structs.replace(plan, problems=tuple(_problems(plan, parent)))


def _pieces(source: Path, target: Path) -> tuple[Piece, ...]:
    return tuple(
        Piece(str(path), str(target / path.name), _size(path)) for path in _movable(source)
    )


def _renewed(begun: MovePlan, pieces: tuple[Piece, ...]) -> MovePlan:
    """A move that has begun, with what came to the old folder since then."""
    known = {piece.source for piece in begun.pieces}
    new = tuple(piece for piece in pieces if piece.source not in known)
    plan = msgspec.structs.replace(begun, pieces=(*begun.pieces, *new))
    return msgspec.structs.replace(plan, problems=tuple(_taken(plan, new)))


def move(plan: MovePlan, commit: Callable[[], None], progress: Progress | None = None) -> None:
    """Do it. `commit` makes the settings name the new folder, and raises when it cannot.

    Raises StorageError, OutOfSpaceError, or Cancelled; everything is back in its old place then.
    """
    if plan.problems:
        raise errors.StorageError(plan.problems[0], "")
    target = Path(plan.target)
    if begun := _journal_of(target, Path(plan.source)):
        try:
            give_way(plan, begun)
        except OSError as error:  # nothing is to be taken back yet
            raise _not_moved(error) from error
    try:
        target.mkdir(parents=True, exist_ok=True)
        write_json(target / _JOURNAL, plan)
        done = 0
        for piece in plan.pieces:
            _bring(piece, plan, done, progress)
            done += piece.n_bytes
        _repoint(plan, back=False)
        commit()
    except BaseException as error:
        _take_back(plan)
        if isinstance(error, OSError):
            raise _not_moved(error) from error
        raise
    clear_up(used_since=False)


def _not_moved(error: OSError) -> errors.EngineError:
    return errors.from_os(error, tr("The data folder was not moved"))


def is_half_done(target: Path) -> bool:
    """Whether a move to `target` neither came to its end nor could be taken back."""
    return _journal_of(target, folders.data()) is not None


def clear_up(*, used_since: bool = True) -> None:
    """After a move: delete what is left in the old folder. Also ends what a crash interrupted.

    `used_since`: the old folder may have been used again, so only copies go.
    """
    plan = _journal_of(folders.data(), None)
    if plan is None:
        return
    try:  # before anything goes, should the settings be lost
        write_json(folders.data() / _JOURNAL, msgspec.structs.replace(plan, is_whole=True))
        sync_folder(folders.data())
    except OSError:
        return  # the next start tries it again
    for piece in copies(plan) if used_since else plan.pieces:
        with contextlib.suppress(OSError):  # what cannot be deleted stays, and harms nobody
            if os.path.lexists(piece.target):
                delete(Path(piece.source))
    with contextlib.suppress(OSError):
        (folders.data() / _JOURNAL).unlink(missing_ok=True)


def _problems(plan: MovePlan, parent: Path) -> list[str]:
    source, target = Path(plan.source), Path(plan.target)
    if folders.fixed_by_environment():
        return [tr("RUNAHEAD_HOME is set, and decides where the data folder is.")]
    if target == source:
        return [tr("That is the data folder already.")]
    found = []
    moving = (plan.source, *(piece.source for piece in plan.pieces))
    if any(target.is_relative_to(place) for place in moving):
        found.append(tr("{target} lies inside what would move.", target=target))
    if target.exists() and not target.is_dir():
        found.append(tr("{target} is a file.", target=target))
    elif not _is_writable(parent):
        found.append(tr("Nothing can be written in {folder}.", folder=parent))
    found += _taken(plan, plan.pieces)
    lacking = 0 if plan.same_disk else plan.n_bytes + SPARE_BYTES - shutil.disk_usage(parent).free
    if lacking > 0:
        found.append(
            tr("The disk of {target} lacks {size}.", target=target, size=sizes.show(lacking))
        )
    return found


def _taken(plan: MovePlan, pieces: tuple[Piece, ...]) -> list[str]:
    taken = [Path(p.target).name for p in pieces if os.path.lexists(p.target)]
    if not taken:
        return []
    return [tr("{target} has {names} already.", target=plan.target, names=", ".join(taken))]


def _movable(source: Path) -> list[Path]:
    """All of ours, without the settings, which may lie there too, and what cannot be moved."""
    found = [p for p in source.iterdir() if p.is_file() or p.is_dir()] if source.is_dir() else []
    if folders.packs().is_dir() and folders.packs().parent != source:
        found.append(folders.packs())
    return sorted(path for path in found if not _stays(path))


def _stays(path: Path) -> bool:
    is_settings = path.parent == folders.settings_file().parent and path.stem.startswith("settings")
    return is_settings or path.suffix == ".lock"


def _bring(piece: Piece, plan: MovePlan, done: int, progress: Progress | None) -> None:
    source, target = Path(piece.source), Path(piece.target)
    if os.path.lexists(target) or not os.path.lexists(source):
        return  # brought before a crash; or it was copied then, and is gone now
    if progress and not progress(done, plan.n_bytes):
        raise errors.Cancelled(tr("The data folder stays where it is"))
    for path in all_of(source):
        if path.is_symlink():
            _make_lasting(path, Path(plan.source) if source.parent == Path(plan.source) else source)
    if plan.same_disk:
        source.rename(target)
        return
    partial = target.with_name(f".moving-{target.name}")
    delete(partial)
    for path in all_of(source):
        to = partial / path.relative_to(source)
        if path.is_symlink():
            to.symlink_to(path.readlink())
        elif path.is_dir():
            to.mkdir()
        elif path.is_file():
            done = _copy(path, to, done, plan.n_bytes, progress)
    partial.rename(target)


def _make_lasting(link: Path, moving: Path) -> None:
    """Let a link that leads out of what moves with it lead there from anywhere."""
    try:
        target = link.resolve()
    except (OSError, RuntimeError):  # a loop, which leads nowhere from anywhere
        return
    if link.readlink().is_absolute() or target.is_relative_to(moving.resolve()):
        return
    lasting = link.with_name(f".moving-{link.name}")
    delete(lasting)
    lasting.symlink_to(target)
    lasting.replace(link)


def _copy(source: Path, target: Path, done: int, total: int, progress: Progress | None) -> int:
    with source.open("rb") as reading, target.open("wb") as writing:
        while chunk := reading.read(_CHUNK_BYTES):
            writing.write(chunk)
            done += len(chunk)
            if progress and not progress(done, total):
                raise errors.Cancelled(tr("The data folder stays where it is"))
        writing.flush()
        os.fsync(writing.fileno())
    shutil.copystat(source, target)
    return done


def _take_back(plan: MovePlan) -> None:
    for piece in plan.pieces:
        source, target = Path(piece.source), Path(piece.target)
        delete(target.with_name(f".moving-{target.name}"))
        if not plan.same_disk:
            if os.path.lexists(source) and not plan.is_whole:
                delete(target)  # a copy
        elif os.path.lexists(target) and not has_files(source):
            delete(source)
            target.rename(source)
    if plan.is_whole and not plan.same_disk:
        return  # some of it is only in the new folder: the next start goes on
    _repoint(plan, back=True)
    (Path(plan.target) / _JOURNAL).unlink(missing_ok=True)


def _repoint(plan: MovePlan, *, back: bool) -> None:
    """The list of models holds whole paths, also of what has moved."""
    library = folders.library()
    file = library if back else Path(plan.target) / library.name
    if file.is_file():
        try:
            said = msgspec.json.decode(file.read_bytes())
        except msgspec.DecodeError:
            return  # the library says what is wrong with it, and keeps it
        says = repointed(said, plan, back=back)
        if says != said:
            write_json(file, says)


def _journal_of(target: Path, source: Path | None) -> MovePlan | None:
    """A move to `target` that has begun; from `source`, where that is given."""
    try:
        plan = msgspec.json.decode((target / _JOURNAL).read_bytes(), type=MovePlan)
    except (OSError, ValueError, msgspec.MsgspecError):  # also where it can be no path
        return None
    return plan if source in (None, Path(plan.source)) else None


def _on_one_disk(pieces: tuple[Piece, ...], parent: Path) -> bool:
    disk = parent.stat().st_dev
    return all(Path(piece.source).lstat().st_dev == disk for piece in pieces)


def _nearest(folder: Path) -> Path:
    """The folder itself, or the nearest above it that exists."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def _is_writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _size(path: Path) -> int:
    files = [each for each in all_of(path) if each.is_file() and not each.is_symlink()]
    return sum(file.stat().st_size for file in files)
