"""SingleInstance: one window per data folder, since two would overwrite each other's files."""

from pathlib import Path

from PySide6.QtCore import QLockFile, QSysInfo

from app.language import tr


class SingleInstance:
    """Holds the folder from `take` to `release`; a crash gives it back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = QLockFile(str(folder / "window.lock"))
        self._lock.setStaleLockTime(0)  # only the death of its process makes it stale

    def take(self) -> str:
        """ "" when the folder is ours now; else a sentence that says why not."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            return tr(
                "The data folder {folder} cannot be used: {why}.",
                folder=self._folder,
                why=error.strerror or error,
            )
        if self._lock.tryLock(0):
            return ""
        if self._lock.error() is QLockFile.LockError.LockFailedError:
            if unseen := unseen_holder(self._lock):
                said = tr("Runahead is already open with the data folder {f}.", f=self._folder)
                return f"{said} {unseen}"
            process, *_ = self._lock.getLockInfo()
            return tr(
                "Runahead is already open with the data folder {folder} (process {process})."
                " Use that window, or set RUNAHEAD_HOME to another folder.",
                folder=self._folder,
                process=process,
            )
        return tr("Nothing can be written to the data folder {folder}.", folder=self._folder)

    def release(self) -> None:
        """Let another window have it."""
        self._lock.unlock()


def unseen_holder(lock: QLockFile) -> str:
    """Who has it, and the way out, where nobody can see from here whether that process is alive."""
    process, computer, _ = lock.getLockInfo()
    if not process:  # as after a power cut
        return tr(
            "Its lock does not say by which process. If it is open no more, delete {file}.",
            file=lock.fileName(),
        )
    if computer in ("", QSysInfo.machineHostName()):
        return ""
    return tr(
        "That is on the computer {computer} (process {process}). Close it there. If it is open no"
        " more, delete {file}.",
        computer=computer,
        process=process,
        file=lock.fileName(),
    )
