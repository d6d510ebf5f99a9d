"""The settings file: JSON that people may edit, so nothing in it is trusted and nothing is lost."""

from pathlib import Path
from typing import Any

import msgspec

from engine.atomic_file import write_atomically

VERSION = 1
_END = 10**9  # of what can be a version


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """What a settings file held.

    Attributes:
        values: By key, unchecked, without "version".
        notices: Sentences for the person, when something was wrong.
        keep_as: Where the file has to be kept before it may be written over; None: nowhere.
    """

    values: dict[str, Any] = {}
    notices: tuple[str, ...] = ()
    keep_as: Path | None = None


def load(path: Path) -> Loaded:
    """Read it. An absent file is an empty one; a damaged or newer one is to be kept."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Loaded()
    except OSError as error:
        reason = error.strerror or str(error)
        return Loaded(
            notices=(f"The settings in {path} cannot be read ({reason}): defaults are used.",),
            keep_as=beside(path, "unread"),
        )
    try:
        values = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        kept = beside(path, "damaged")
        return Loaded(
            notices=(
                f"The settings in {path} are damaged ({error}): defaults are used. The file will"
                f" be kept as {kept.name}.",
            ),
            keep_as=kept,
        )
    version = values.pop("version", VERSION)
    if version == VERSION:
        return Loaded(values=values)
    newer = isinstance(version, int) and VERSION < version < _END
    kept = beside(path, f"version-{version}" if newer else "unknown-version")
    return Loaded(
        values=values if newer else {},
        notices=(
            f"The settings in {path} were written by "
            + ("a newer Runahead" if newer else "something else")
            + f": what this one understands is used. The file will be kept as {kept.name}.",
        ),
        keep_as=kept,
    )


def save(path: Path, values: dict[str, Any], keep_as: Path | None) -> None:
    """Replace the file whole; first keep what is there where asked. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if keep_as is not None and path.exists():
        # A copy that is cut short would be no copy: this one is there whole or not at all.
        write_atomically(keep_as, path.read_bytes())
    encoded = msgspec.json.encode({"version": VERSION, **values})
    write_atomically(path, msgspec.json.format(encoded) + b"\n")


def beside(path: Path, word: str) -> Path:
    """A name that is free, for a file that is to be kept before it is written over."""
    candidate = path.with_name(f"{path.stem}.{word}{path.suffix}")
    n = 2
    while candidate.exists():
        candidate = path.with_name(f"{path.stem}.{word}-{n}{path.suffix}")
        n += 1
    return candidate
