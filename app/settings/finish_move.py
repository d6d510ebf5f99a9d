"""finish_move(): moves the data folder where the settings ask for it, before anything is open."""

import threading
from pathlib import Path

from PySide6.QtCore import QEventLoop, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QMessageBox, QProgressDialog

from app import folders
from app.background import sentence
from app.language import tr
from app.settings.data_move import clear_up, is_half_done, move, plan_move
from app.settings.move_again import kept_folders
from app.settings.move_plan import MovePlan, repointed
from app.settings.settings import Settings
from app.single_instance import SingleInstance
from app.widgets.plain import plain
from engine import errors, sizes

_SHOWN_AFTER_MS = 400
_FRAME_MS = 50
_STEPS = 1000  # a bar counts in int, bytes do not fit


def finish_move(settings: Settings) -> None:
    """Do it, showing how far it is; afterwards app.folders name the right places.

    Call it once at the start, before the database, the lock of the data folder and the engine. What
    goes wrong is told, and the old folder is used.
    """
    wanted = settings.get("next_data_folder")
    if folders.fixed_by_environment():
        return  # that may be the copy of a move that never ended: the old folder is needed
    if not wanted:
        clear_up()
        return
    lock = SingleInstance(folders.data())
    if lock.take():
        return  # another window has it open, which is told when this one wants it too
    kept: set[Path] = set()
    try:
        plan = plan_move(Path(wanted))
        # What a move has put aside that was interrupted has not been told.
        told = set() if is_half_done(Path(wanted)) else kept_folders(Path(plan.target))
        problem = _Moving(settings, plan).run()
        kept = kept_folders(Path(plan.target)) - told
    except (errors.EngineError, OSError, RuntimeError, ValueError) as error:  # a loop of links, too
        problem = sentence(error)
    finally:
        lock.release()
    if not is_half_done(Path(wanted)):  # else the next start tries again
        settings.reset("next_data_folder")
        settings.flush()
    if problem:
        QMessageBox.warning(None, tr("The data folder was not moved"), plain(problem))
    for folder in sorted(kept):
        text = tr(
            "An earlier move was interrupted, and the old folder was used since. It moved as it is"
            " now; what had come to the new one before is kept in {folder}. To see those chats,"
            " start Runahead with RUNAHEAD_HOME set to that folder.",
            folder=folder,
        )
        QMessageBox.information(None, tr("Nothing was lost"), plain(text))


class _Moving(QObject):
    """A move in a thread that ends with it, and the bar that shows how far it is."""

    _whole = Signal()

    def __init__(self, settings: Settings, plan: MovePlan) -> None:
        super().__init__()
        self._settings = settings
        self._plan = plan
        self._done = 0
        self._cancelled = False
        self._committed = False
        self._problem = ""
        self._loop = QEventLoop()
        # Settings belong to this thread; the one that moves waits until they are on the disk.
        self._whole.connect(self._on_whole, Qt.ConnectionType.BlockingQueuedConnection)

    def run(self) -> str:
        """A sentence that says why it did not work, or "" when all is well."""
        size = sizes.show(self._plan.n_bytes)
        text = tr("Moving {size} to {target}", size=size, target=self._plan.target)
        dialog = QProgressDialog(plain(text), tr("Cancel"), 0, _STEPS)
        dialog.setWindowTitle("Runahead")
        dialog.setMinimumDuration(_SHOWN_AFTER_MS)
        dialog.setAutoReset(False)
        dialog.canceled.connect(self._on_cancelled)
        thread = threading.Thread(target=self._move, name="data-move")
        timer = QTimer(interval=_FRAME_MS)

        def tick() -> None:
            if not thread.is_alive():
                self._loop.quit()
            elif not self._cancelled:
                dialog.setValue(int(_STEPS * self._done / max(1, self._plan.n_bytes)))

        timer.timeout.connect(tick)
        thread.start()
        timer.start()
        self._loop.exec()
        timer.stop()
        dialog.close()
        return self._problem

    def _move(self) -> None:
        try:
            move(self._plan, self._commit, self._take_progress)
        except Exception as error:
            self._problem = sentence(error)
            if not isinstance(error, errors.EngineError | OSError):
                raise  # a fault of ours, whose traceback is wanted

    def _take_progress(self, done: int, total: int) -> bool:
        self._done = done
        return not self._cancelled

    def _commit(self) -> None:
        self._whole.emit()
        if not self._committed:
            raise errors.StorageError(
                tr("The settings could not be saved in {path}", path=self._settings.path)
            )

    def _on_whole(self) -> None:
        settings = self._settings
        before = settings.get("data_folder"), settings.get("last_model")
        settings.set("data_folder", self._plan.target)
        settings.set("last_model", repointed(before[1], self._plan))
        settings.reset("next_data_folder")
        self._committed = settings.flush()
        if not self._committed:
            settings.set("data_folder", before[0])
            settings.set("last_model", before[1])

    def _on_cancelled(self) -> None:
        self._cancelled = True
