"""Sizes in pixels that follow the font: `scaled` for a number, `follow_font` for a widget.

`follow_size` is for what is laid out by the room that there is, as seen by the widget's font.
"""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget

_ORDINARY = 17  # height in pixels of the text that lengths are given for
_CHANGES = (QEvent.Type.FontChange, QEvent.Type.StyleChange, QEvent.Type.Polish)


def scaled(widget: QWidget, pixels: int) -> int:
    """A length that is enough beside ordinary text, for the text of this widget; never less."""
    return max(pixels, round(pixels * widget.fontMetrics().height() / _ORDINARY))


def follow_font(widget: QWidget, fit: Callable[[], object]) -> None:
    """Call `fit` now and whenever the widget's font changes."""
    widget.installEventFilter(_Follower(widget, fit, _CHANGES))
    fit()


def follow_size(widget: QWidget, fit: Callable[[], object]) -> None:
    """Call `fit` now and whenever the widget's size or font changes."""
    widget.installEventFilter(_Follower(widget, fit, (*_CHANGES, QEvent.Type.Resize)))
    fit()


class _Follower(QObject):
    def __init__(
        self, widget: QWidget, fit: Callable[[], object], changes: Sequence[QEvent.Type]
    ) -> None:
        super().__init__(widget)
        self._fit = fit
        self._changes = changes

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802, Qt's name
        if event.type() in self._changes:
            self._fit()
        return False
