"""What deleting does to files: moves models to the trash, removes packs for good."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QFile

from app.language import tr
from engine import errors


def move_to_trash(files: Sequence[Path]) -> None:
    """Move all files that are still there. Raises StorageError at the first that stays."""
    for path in files:
        if not path.exists():
            continue
        file = QFile(str(path))
        if not file.moveToTrash():
            raise errors.StorageError(
                tr(
                    "{path} could not be moved to the trash: {why}",
                    path=path,
                    why=file.errorString(),
                ),
                tr("Its disk may have no trash; delete it in the file manager."),
            )


def delete(path: Path) -> None:
    """Delete a file for good; one that is gone already is fine. Raises StorageError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise errors.from_os(error, tr("{path} could not be deleted", path=path)) from error
