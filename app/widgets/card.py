"""Card: a raised, rounded box; line(): what separates things inside one."""

from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.theme.theme import SPACE_L, SPACE_S
from app.widgets.labels import label


class Card(QFrame):
    """Put widgets into `body`, a vertical layout; a title is optional."""

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "card")
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(SPACE_L, SPACE_L, SPACE_L, SPACE_L)
        self.body.setSpacing(SPACE_S)
        if title:
            self.body.addWidget(label(title, "heading"))


def line() -> QFrame:
    """A hairline."""
    made = QFrame()
    made.setProperty("kind", "line")
    return made
