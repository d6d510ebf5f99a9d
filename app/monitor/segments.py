"""Segments: one of a few, all of which are seen."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from app.widgets.labels import set_kind


class Segments(QWidget):
    """A row of buttons, one of which is down.

    Signals:
        chosen: Another one was pressed. arg: its name.
    """

    chosen = Signal(str)

    def __init__(
        self, choices: Sequence[tuple[str, str]], name: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._names = [choice for choice, _ in choices]
        self._group = QButtonGroup(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        for place, (_, text) in enumerate(choices):
            button = QPushButton(text)
            button.setCheckable(True)
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            button.setStyleSheet("padding: 2px 9px; min-height: 18px;")
            set_kind(button, "quiet")
            self._group.addButton(button, place)
            row.addWidget(button)
        self._group.button(0).setChecked(True)
        self._group.idClicked.connect(self._on_clicked)

    @property
    def choice(self) -> str:
        """The name of the one that is down."""
        return self._names[self._group.checkedId()]

    def choose(self, name: str) -> None:
        """Press it, as a person does."""
        self._group.button(self._names.index(name)).click()

    def _on_clicked(self, place: int) -> None:
        self.chosen.emit(self._names[place])
