"""No widget outlives its test: those that are left when Qt ends would be deleted in any order."""

import gc

import shiboken6
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication


def delete_widgets() -> None:
    """Delete what is left of all windows, parents before children."""
    for widget in QApplication.topLevelWidgets():
        if shiboken6.isValid(widget):
            widget.close()
            widget.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[call-overload]


def delete_all() -> None:
    """The same, and what only cycles of references keep."""
    delete_widgets()
    gc.collect()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[call-overload]
