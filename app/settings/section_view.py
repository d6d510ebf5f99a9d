"""SectionView: a titled group of rows and other parts, of which a search shows some."""

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.settings.option_row import OptionRow
from app.theme.theme import SPACE_L, SPACE_S
from app.widgets.card import Card, line
from app.widgets.labels import label


class SectionView(QWidget):
    """Rows lie in one card with hairlines between them; parts follow."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.rows: list[OptionRow] = []
        self._title = title
        self._parts: list[tuple[QWidget, str]] = []
        self._card = Card()
        self._card.body.setSpacing(0)
        self._card.body.setContentsMargins(SPACE_L, SPACE_S, SPACE_L, SPACE_S)
        self._lines: list[QWidget] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_L)
        head = QVBoxLayout()
        head.setSpacing(2)
        head.addWidget(label(title, "title"))
        self._about = label(text, "muted", wrap=True)
        head.addWidget(self._about)
        self._column.addLayout(head)
        self._column.addWidget(self._card)
        self._card.hide()

    def add_row(self, row: OptionRow) -> None:
        """Add an option."""
        between = line()
        between.setVisible(bool(self.rows))
        self._lines.append(between)
        self.rows.append(row)
        self._card.body.addWidget(between)
        self._card.body.addWidget(row)
        self._card.show()

    def add_part(self, part: QWidget, words: str) -> None:
        """Add something else, which is found by `words`."""
        self._parts.append((part, words.lower()))
        self._column.addWidget(part)

    def filter(self, words: list[str]) -> bool:
        """Show what has all words, in lower case; returns whether anything is left."""
        n_rows = 0
        for row, between in zip(self.rows, self._lines, strict=True):
            shown = row.matches(words)
            row.setVisible(shown)
            between.setVisible(shown and n_rows > 0)
            n_rows += shown
        self._card.setVisible(n_rows > 0)
        n_parts = 0
        for part, text in self._parts:
            shown = all(word in text for word in words)
            part.setVisible(shown)
            n_parts += shown
        self._about.setVisible(bool(self._about.text()) and not words)
        return n_rows + n_parts > 0
