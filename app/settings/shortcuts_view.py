"""ShortcutsView: the keys of the window, by the place where they work."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from app.language import tr
from app.settings.settings import Settings
from app.settings.shortcuts import PLACES
from app.theme.theme import SPACE_L, SPACE_S, SPACE_XS
from app.widgets.card import Card
from app.widgets.labels import label

_MOST_CHIPS = 3  # of more, which are a row, the first and the last are shown
# Which of the two sends is a setting.
_SWAPPED = {"Send": "Ctrl+Return", "New line": "Return Shift+Return"}


class ShortcutsView(QWidget):
    """Keys as the system writes them."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_L)
        settings.changed.connect(self._on_settings_changed)
        self._fill()

    def _fill(self) -> None:
        swapped = _SWAPPED if self._settings.get("send_with") == "ctrl+enter" else {}
        for place, shortcuts in PLACES.items():
            card = Card(tr(place))
            grid = QGridLayout()
            grid.setVerticalSpacing(SPACE_S)
            grid.setColumnStretch(0, 1)
            for row, shortcut in enumerate(shortcuts):
                grid.addWidget(label(tr(shortcut.text), wrap=True), row, 0)
                grid.addLayout(_chips(swapped.get(shortcut.text, shortcut.keys)), row, 1)
            card.body.addLayout(grid)
            self._column.addWidget(card)

    def _on_settings_changed(self, name: str) -> None:
        if name != "send_with":
            return
        while (item := self._column.takeAt(0)) is not None:
            if card := item.widget():
                card.deleteLater()
        self._fill()


def _chips(keys: str) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(SPACE_XS)
    row.addStretch()
    shown = keys.split(" ")
    if len(shown) > _MOST_CHIPS:
        shown = [shown[0], "", shown[-1]]
    for each in shown:
        if not each:
            row.addWidget(label("–", "small"))
            continue
        native = QKeySequence(each).toString(QKeySequence.SequenceFormat.NativeText)
        # Unaligned, they would be as high as a text beside them that takes two lines.
        row.addWidget(label(native, "chip"), alignment=Qt.AlignmentFlag.AlignVCenter)
    return row
