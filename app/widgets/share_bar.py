"""ShareBar: a bar that shows how far something is."""

from PySide6.QtWidgets import QProgressBar, QWidget

_STEPS = 1000  # a bar counts in int, bytes do not fit


class ShareBar(QProgressBar):
    """Without words: those stand beside it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextVisible(False)

    def show_share(self, done: int, total: int) -> None:
        """Show `done` of `total`; total 0: nobody knows."""
        self.setRange(0, _STEPS if total > 0 else 0)
        if total > 0:
            self.setValue(round(_STEPS * min(1.0, done / total)))
