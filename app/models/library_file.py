"""The file of the library: JSON, replaced whole, and kept aside when it cannot be understood."""

from datetime import datetime
from pathlib import Path

import msgspec

from app.language import tr
from app.models.known_model import KnownModel
from engine.atomic_file import write_json

FORMAT = 1


class _File(msgspec.Struct):
    format: int = FORMAT
    models: list[msgspec.Raw] = []


class Loaded(msgspec.Struct, frozen=True):
    """What a file held.

    Attributes:
        notices: Sentences about what was wrong with it.
        keep_as: Where the file has to be moved before another takes its place; None: nowhere.
    """

    models: list[KnownModel]
    notices: list[str]
    keep_as: Path | None = None


def load(path: Path) -> Loaded:
    """Read the library. Of a damaged file a copy is kept, so that nothing in it is lost."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Loaded([], [])
    except OSError as error:
        why, kept = error.strerror or str(error), _beside(path, "unread")
        told = tr(
            "The list of models cannot be read ({why}) and begins anew: {path} will be kept as"
            " {name}.",
            why=why,
            path=path,
            name=kept.name,
        )
        return Loaded([], [told], kept)
    try:
        file = msgspec.json.decode(data, type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        told = tr("The list of models is damaged and begins anew: {error}.", error=error)
        return _kept_aside(path, data, [], told)
    if file.format != FORMAT:
        told = tr("The list of models is of another version and begins anew.")
        return _kept_aside(path, data, [], told)
    models, n_bad = [], 0
    for raw in file.models:
        try:
            models.append(msgspec.json.decode(raw, type=KnownModel))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            n_bad += 1
    if n_bad:
        told = tr("{n} models of the list could not be read. Add them again.", n=n_bad)
        return _kept_aside(path, data, models, told)
    return Loaded(models, [])


def save(path: Path, models: list[KnownModel], keep_as: Path | None = None) -> None:
    """Replace the file; first move what is there where asked. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if keep_as is not None and path.exists():
        path.replace(keep_as)  # which needs no space, and nothing of it to be read
    write_json(path, {"format": FORMAT, "models": models})


def _kept_aside(path: Path, data: bytes, models: list[KnownModel], told: str) -> Loaded:
    kept = _beside(path, "damaged")
    try:
        kept.write_bytes(data)
    except OSError:
        words = tr("The old one will be kept as {path}.", path=kept)
        return Loaded(models, [f"{told} {words}"], kept)
    return Loaded(models, [told + " " + tr("The old one is kept as {path}.", path=kept)])


def _beside(path: Path, word: str) -> Path:
    return path.with_name(f"{path.stem}-{word}-{datetime.now():%Y%m%d-%H%M%S}{path.suffix}")
