"""Where Runahead keeps files of its own.

The environment's RUNAHEAD_HOME, when set, holds all of them: for a clean room in tests, or another
installation. Otherwise the settings of the desktop app may name a data folder, on a larger disk for
example. Otherwise each lies where the system wants such files.
"""

import os
from pathlib import Path

import msgspec
import platformdirs

from engine import errors

_APP = "runahead"


class _Settings(msgspec.Struct):
    """What matters here of the desktop app's settings."""

    data_folder: str = ""


def packs() -> Path:
    """Expert packs: large, and rebuilt when lost."""
    return _home(platformdirs.user_cache_path(_APP)) / "packs"


def run_logs() -> Path:
    """One folder per engine run."""
    return data() / "runs"


def data() -> Path:
    """What cannot be rebuilt."""
    return _home(platformdirs.user_data_path(_APP))


def settings_file() -> Path:
    """The settings of the desktop app; they never move."""
    return (_environment() or platformdirs.user_config_path(_APP)) / "settings.json"


def logs() -> Path:
    """What processes of ours wrote to their output: small, and of use after a crash."""
    return _home(platformdirs.user_data_path(_APP)) / "logs"


def named(folder: str, what: str) -> Path:
    """A folder that a person has named, "~" and "~user" written out; `what` says where.

    Raises StorageError when no folder can have that name.
    """
    try:
        path = Path(folder).expanduser()
        possible = b"\0" not in os.fsencode(path)
    except RuntimeError as error:
        raise errors.StorageError(
            f"{what} is {folder}, and nobody knows the home folder {Path(folder).parts[0]}",
            "Name the whole folder there instead.",
        ) from error
    except ValueError:  # half a character
        possible = False
    if not possible:
        raise errors.StorageError(f"{what} is {folder!r}, which no folder can be called", "")
    return path


def _home(default: Path) -> Path:
    return _environment() or _chosen() or default


def _environment() -> Path | None:
    home = os.environ.get("RUNAHEAD_HOME", "")
    return named(home, "RUNAHEAD_HOME") if home else None


def _chosen() -> Path | None:
    """The data folder that the settings name, if any."""
    try:
        settings = msgspec.json.decode(settings_file().read_bytes(), type=_Settings)
    except (OSError, msgspec.MsgspecError):
        return None  # the app says what is wrong with its settings, and goes on with defaults
    what = f"The data folder (data_folder in {settings_file()})"
    return named(settings.data_folder, what) if settings.data_folder else None
