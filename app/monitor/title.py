"""Title: what stands over a chart or a control, in the font that charts paint theirs with."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from app.monitor.look import Look
from app.theme.theme import Theme


class Title(QLabel):
    """A word or two; its tip explains them."""

    def __init__(self, theme: Theme, text: str, tip: str = "", parent: QWidget | None = None):
        super().__init__(text, parent)
        self._theme = theme
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setToolTip(tip)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def _on_theme_changed(self) -> None:
        self.setFont(Look(self._theme).title)
