"""Where the window keeps files: everything lies in the data folder except the settings."""

import os
from pathlib import Path

from engine import folders


def settings_file() -> Path:
    """The settings; they say where the data folder is, so they never move."""
    return folders.settings_file()


def data() -> Path:
    """The data folder."""
    return folders.data()


def database() -> Path:
    """All conversations."""
    return data() / "conversations.sqlite"


def library() -> Path:
    """The list of known models."""
    return data() / "models.json"


def crash_reports() -> Path:
    """One text file per crash."""
    return data() / "crash-reports"


def packs() -> Path:
    """Expert packs."""
    return folders.packs()


def run_logs() -> Path:
    """One folder per engine run."""
    return folders.run_logs()


def named(folder: str, what: str) -> Path:
    """A folder that a person has named; StorageError where none can be called so."""
    return folders.named(folder, what)


def fixed_by_environment() -> bool:
    """Whether RUNAHEAD_HOME decides, and not the settings."""
    return bool(os.environ.get("RUNAHEAD_HOME", ""))
