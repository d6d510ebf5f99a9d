"""Where icons and style sheets lie: beside this package when installed, else in the checkout."""

from pathlib import Path

_INSTALLED = Path(__file__).parent / "resources"


def resource_folder() -> Path:
    """The folder that holds icons/ and theme/."""
    return _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[1] / "resources"
