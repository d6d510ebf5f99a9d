"""GarbageCollector: cycles of references are collected in the window's thread and in no other."""

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL_MS = 1000


class GarbageCollector(QObject):
    """Takes the place of Python's own, which collects in whichever thread has made much.

    A cycle may hold Qt's objects, as a dialog does with the functions that its signals call. Qt's
    objects may be deleted in their own thread only: elsewhere that ends the program, now and then.
    """

    def __init__(self, parent: QObject | None = None, interval_ms: int = INTERVAL_MS) -> None:
        super().__init__(parent)
        self._was_enabled = gc.isenabled()
        gc.disable()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.collect)
        self._timer.start(interval_ms)

    def collect(self) -> None:
        """Collect the oldest generation that Python itself would have collected by now."""
        due = zip(gc.get_count(), gc.get_threshold(), strict=True)
        generations = [n for n, (count, most) in enumerate(due) if count > most]
        if generations:
            gc.collect(generations[-1])

    def leave_out_what_is_there(self) -> None:
        """For what lives as long as the window: with it, full collections would take tens of ms."""
        gc.collect()
        gc.freeze()

    def close(self) -> None:
        """Leave it to Python again, where Python did it before."""
        self._timer.stop()
        if self._was_enabled:
            gc.enable()
