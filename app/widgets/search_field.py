"""SearchField: a line to search with, which speaks when the typing pauses."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from app.theme.theme import Theme

PAUSE_MS = 150


class SearchField(QLineEdit):
    """Esc empties it.

    Signals:
        searched: What to look for; "" for everything. arg: str, without outer spaces.
    """

    searched = Signal(str)

    def __init__(self, theme: Theme, placeholder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setProperty("kind", "search")
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(placeholder)
        self.setClearButtonEnabled(True)
        self._picture = QAction(self)
        self.addAction(self._picture, QLineEdit.ActionPosition.LeadingPosition)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._on_paused)
        self.textChanged.connect(self._pause.start)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802, Qt's name
        """Esc empties the field before it means anything to others."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            return
        super().keyPressEvent(event)

    def _on_paused(self) -> None:
        self.searched.emit(self.text().strip())

    def _on_theme_changed(self) -> None:
        self._picture.setIcon(self._theme.icon("search", "muted"))
