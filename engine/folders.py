"""Where Runahead keeps files of its own.

RUNAHEAD_HOME, when set, holds all of them: for a larger disk, or a clean room in tests.
"""

import os
from pathlib import Path

import platformdirs

_APP = "runahead"


def packs() -> Path:
    """Expert packs: large, and rebuilt when lost."""
    return _home(platformdirs.user_cache_path(_APP)) / "packs"


def run_logs() -> Path:
    """One folder per engine run."""
    return _home(platformdirs.user_data_path(_APP)) / "runs"


def models() -> Path:
    """Models that Runahead made or downloaded."""
    return _home(platformdirs.user_data_path(_APP)) / "models"


def _home(default: Path) -> Path:
    home = os.environ.get("RUNAHEAD_HOME", "")
    return Path(home).expanduser() if home else default
