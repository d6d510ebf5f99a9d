"""JumpButton: back to the latest message."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QPushButton, QWidget

from app.language import tr
from app.theme.theme import Theme

_ABOVE_END = 12


class JumpButton(QPushButton):
    """Floats over the lower end of its parent."""

    def __init__(self, theme: Theme, parent: QWidget):
        super().__init__(tr("Jump to latest"), parent)
        self._theme = theme
        self.setObjectName("jumpToLatest")
        self.setStyleSheet("border-radius: 16px;")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def place(self, within: QSize) -> None:
        """Stand in the middle above the lower end of an area of this size."""
        size = self.sizeHint()
        x = (within.width() - size.width()) // 2
        self.setGeometry(x, within.height() - size.height() - _ABOVE_END, *size.toTuple())

    def _on_theme_changed(self) -> None:
        self.setIcon(self._theme.icon("arrow-down"))
