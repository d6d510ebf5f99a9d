"""The files of a model: one, or the shards of a split one ("name-00001-of-00003.gguf")."""

import contextlib
import re
from pathlib import Path

from engine import errors

_SHARD = re.compile(r"(?P<prefix>.*)-(?P<no>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)

# A name may claim 99999 shards; nobody splits a model into more than this.
MAX_SHARDS = 1000


def first_file(path: Path) -> Path:
    """The file a model is known by: itself, or the first shard of the set that it belongs to."""
    match = _SHARD.fullmatch(path.name)
    return _shard(path, match, 1) if match else path


def is_shard(path: Path) -> bool:
    """True when the name says that it is a part of a split model."""
    return _SHARD.fullmatch(path.name) is not None


def all_files(path: Path) -> list[Path]:
    """Every file that the model must have, by their names; whether they exist or not."""
    match = _SHARD.fullmatch(path.name)
    if not match or not 1 <= int(match["count"]) <= MAX_SHARDS:
        return [path]
    return [_shard(path, match, no) for no in range(1, int(match["count"]) + 1)]


def is_file(path: Path) -> bool:
    """Whether it is there; what may not be looked at, or has too long a name, is not."""
    with contextlib.suppress(OSError):
        return path.is_file()
    return False


def is_folder(path: Path) -> bool:
    """The same of a folder."""
    with contextlib.suppress(OSError):
        return path.is_dir()
    return False


def is_link(path: Path) -> bool:
    """Whether it leads to a file elsewhere, as in the folders of Hugging Face's tools."""
    with contextlib.suppress(OSError):
        return path.is_symlink()
    return False


def check_files(path: Path) -> Path:
    """The model's first file, when all of them are there. Raises an EngineError that names them."""
    if path.suffix.lower() != ".gguf":
        raise errors.ModelFileError(
            f"{path.name} is not a GGUF file", "Choose a file whose name ends in .gguf."
        )
    files = all_files(path)
    missing = [each.name for each in files if not is_file(each)]
    if len(missing) == len(files):
        raise errors.StorageError(f"{path} does not exist or cannot be read")
    if missing:
        shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if missing[3:] else "")
        raise errors.ModelFileError(
            f"{len(missing)} of the {len(files)} parts of {path.name} are missing: {shown}",
            f"Put all parts into {path.parent} and add any of them.",
        )
    return files[0]


def _shard(path: Path, match: re.Match[str], no: int) -> Path:
    return path.with_name(f"{match['prefix']}-{no:05d}-of-{match['count']}{path.suffix}")
