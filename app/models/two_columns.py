"""TwoColumns: cards beside each other where there is room, else below each other."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.theme.theme import SPACE_M
from app.widgets.font_sizes import follow_size, scaled

WIDE = 1080


class TwoColumns(QWidget):
    """Each card comes with the column (0 or 1) that it has where there are two."""

    def __init__(self, cards: Sequence[tuple[QWidget, int]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cards = tuple(cards)
        self._columns = (QVBoxLayout(), QVBoxLayout())
        self._wide: bool | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_M)
        for column in self._columns:
            column.setSpacing(SPACE_M)
            column.setAlignment(Qt.AlignmentFlag.AlignTop)
            row.addLayout(column, 1)
        follow_size(self, self._arrange)

    def _arrange(self) -> None:
        """Go from one to two columns or back."""
        wide = self.width() >= scaled(self, WIDE)
        if wide == self._wide:
            return
        self._wide = wide
        for card, column in self._cards:
            for one in self._columns:
                one.removeWidget(card)
            self._columns[column if wide else 0].addWidget(card)
        row = self.layout()
        assert isinstance(row, QHBoxLayout)
        row.setStretch(1, 1 if wide else 0)
        row.setSpacing(SPACE_M if wide else 0)
