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
    """What a file held; `notices` are sentences about what was wrong with it."""

    models: list[KnownModel]
    notices: list[str]


def load(path: Path) -> Loaded:
    """Read the library. A damaged file is copied aside first, so that nothing in it is lost."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Loaded([], [])
    except OSError as error:
        why = error.strerror or str(error)
        return Loaded(
            [], [tr("The list of models cannot be read ({why}): {path}", why=why, path=path)]
        )
    try:
        file = msgspec.json.decode(data, type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        aside = _keep_aside(path, data)
        return Loaded(
            [],
            [
                tr("The list of models is damaged and begins anew: {error}.", error=error)
                + " "
                + aside
            ],
        )
    if file.format != FORMAT:
        aside = _keep_aside(path, data)
        return Loaded(
            [], [tr("The list of models is of another version and begins anew.") + " " + aside]
        )
    models, n_bad = [], 0
    for raw in file.models:
        try:
            models.append(msgspec.json.decode(raw, type=KnownModel))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            n_bad += 1
    notices = []
    if n_bad:
        aside = _keep_aside(path, data)
        notices.append(
            tr("{n} models of the list could not be read. Add them again.", n=n_bad) + " " + aside
        )
    return Loaded(models, notices)


def save(path: Path, models: list[KnownModel]) -> None:
    """Replace the file. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"format": FORMAT, "models": models})


def _keep_aside(path: Path, data: bytes) -> str:
    copy = path.with_name(f"{path.stem}-damaged-{datetime.now():%Y%m%d-%H%M%S}{path.suffix}")
    try:
        copy.write_bytes(data)
    except OSError as error:
        return tr("A copy could not be kept: {why}.", why=error.strerror or error)
    return tr("The old one is kept as {path}.", path=copy)
