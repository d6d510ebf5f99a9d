"""SideSplitter: a list and what it is about, beside each other as long as there is room."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from app.widgets.font_sizes import scaled

_MEASURED_ON = {
    QEvent.Type.LayoutRequest,
    QEvent.Type.Show,
    QEvent.Type.ShowToParent,
    QEvent.Type.HideToParent,
}  # when Qt sets the least size of a splitter
_SIDE_SHARE = 0.3  # of the height, where the list lies above


class SideSplitter(QSplitter):
    """Where both do not fit, the list goes: above the other, or away.

    How much room they need is what they say themselves and what the maker of the page says for
    ordinary text; both follow the font.
    """

    def __init__(
        self, side: QWidget, main: QWidget, width: int, *, room: int = 0, turns: bool
    ) -> None:
        """`width` is that of the list at first; `room` is what the other should have beside it.

        `turns`: the list goes above the other, else it is hidden.
        """
        super().__init__(Qt.Orientation.Horizontal)
        self._side, self._main, self._room, self._turns = side, main, room, turns
        self.is_narrow = False
        self.setChildrenCollapsible(False)
        self.addWidget(side)
        self.addWidget(main)
        self.setStretchFactor(0, 0)
        self.setStretchFactor(1, 1)
        self.setSizes([width, 3 * width])
        self._beside = self.sizes()
        self.setMinimumSize(0, 0)

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """What is needed when the list has gone."""
        side, main = _least(self._side), _least(self._main)
        if not self._turns:
            return main
        return QSize(max(side.width(), main.width()), side.height() + main.height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802, Qt's name
        """There may be more room, or less."""
        self._arrange()
        super().resizeEvent(event)

    def event(self, event: QEvent) -> bool:
        """One of both may need more room, or less."""
        if event.type() not in _MEASURED_ON:
            return super().event(event)
        handled = super().event(event)
        self._arrange()
        self.setMinimumSize(0, 0)  # else Qt's: that of both beside each other
        return handled

    def _arrange(self) -> None:
        room = max(_least(self._main).width(), scaled(self, self._room))
        narrow = self.width() < _least(self._side).width() + self.handleWidth() + room
        if narrow == self.is_narrow:
            return
        self.is_narrow = narrow
        if not self._turns:
            self._side.setVisible(not narrow)
        elif narrow:
            self._beside = self.sizes()
            self.setOrientation(Qt.Orientation.Vertical)
            above = max(round(self.height() * _SIDE_SHARE), _least(self._side).height())
            self.setSizes([above, self.height() - above])
        else:
            self.setOrientation(Qt.Orientation.Horizontal)
            self.setSizes(self._beside)
        self.setMinimumSize(0, 0)


def _least(widget: QWidget) -> QSize:
    return widget.minimumSizeHint().expandedTo(widget.minimumSize())
