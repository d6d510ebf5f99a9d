"""PressButton: a button whose face is a layout of other widgets."""

from PySide6.QtCore import QEvent, QSize
from PySide6.QtWidgets import QPushButton


class PressButton(QPushButton):
    """As large as its layout wants; the widgets in it leave clicks to it."""

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """The layout's, where there is one."""
        layout = self.layout()
        return layout.sizeHint() if layout else super().sizeHint()

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """The layout's, where there is one."""
        layout = self.layout()
        return layout.minimumSize() if layout else super().minimumSizeHint()

    def event(self, event: QEvent) -> bool:
        """Tell the layout around it when the one inside wants another size."""
        handled = super().event(event)
        if event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return handled
