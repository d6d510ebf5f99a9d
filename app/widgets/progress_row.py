"""ProgressRow: what is being done, how far it is, and a way to stop it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.language import tr
from app.theme.theme import SPACE_S, SPACE_XS, Theme
from app.widgets.icon_button import IconButton
from app.widgets.labels import ElidedLabel, label
from app.widgets.share_bar import ShareBar


class ProgressRow(QWidget):
    """A line of text over a bar, and a button to stop with.

    Signals:
        cancelled: The button was pressed.
    """

    cancelled = Signal()

    def __init__(self, theme: Theme, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = ElidedLabel(text)
        self.share = label(role="small")
        self.bar = ShareBar()
        self.cancel_button = IconButton(theme, "close", tr("Cancel"), size=14)
        self.cancel_button.clicked.connect(self.cancelled)
        words = QHBoxLayout()
        words.addWidget(self.text, 1)
        words.addWidget(self.share)
        column = QVBoxLayout()
        column.setSpacing(SPACE_XS)
        column.addLayout(words)
        column.addWidget(self.bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_S)
        row.addLayout(column, 1)
        row.addWidget(self.cancel_button)
        self.set_progress(text, 0, 0)

    def set_progress(self, text: str, done: int, total: int) -> None:
        """Show how far it is; total 0: nobody knows."""
        self.text.setText(text)
        self.bar.show_share(done, total)
        self.share.setText(f"{min(1.0, done / total):.0%}" if total > 0 else "")
