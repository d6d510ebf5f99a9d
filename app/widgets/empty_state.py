"""EmptyState: what a page shows when it has nothing yet: why, and what to do."""

from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.theme.theme import SPACE_L, SPACE_S, Theme
from app.widgets.font_sizes import follow_font, scaled
from app.widgets.labels import label, set_kind

TEXT_WIDTH = 440


class EmptyState(QWidget):
    """Centred picture, title and text, a primary action and perhaps a second one.

    Signals:
        acted: The primary button was pressed.
        second_acted: The other one.
    """

    acted = Signal()
    second_acted = Signal()

    def __init__(
        self,
        title: str,
        text: str = "",
        action: str = "",
        *,
        second_action: str = "",
        theme: Theme | None = None,
        icon: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme, self._icon = theme, icon
        self.picture = QLabel()
        self.title = label(title, "title", wrap=True)
        self.text = label(text, "muted", wrap=True)
        self.button = QPushButton(action)
        self.second_button = QPushButton(second_action)
        set_kind(self.button, "primary")
        self.button.clicked.connect(self.acted)
        self.second_button.clicked.connect(self.second_acted)
        self.button.setVisible(bool(action))
        self.second_button.setVisible(bool(second_action))
        self.extra = QVBoxLayout()  # for what a page adds below the buttons
        self._lay_out()
        if theme and icon:
            theme.changed.connect(self._on_theme_changed)
            self._on_theme_changed()

    def _lay_out(self) -> None:
        centre = Qt.AlignmentFlag.AlignHCenter
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE_S)
        buttons.addStretch()
        buttons.addWidget(self.button)
        buttons.addWidget(self.second_button)
        buttons.addStretch()
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_L, SPACE_L, SPACE_L, SPACE_L)
        column.setSpacing(SPACE_S)
        column.addStretch(2)
        self.picture.setVisible(bool(self._icon))
        column.addWidget(self.picture, alignment=centre)
        for one in (self.title, self.text):
            one.setAlignment(centre)
            one.setMinimumWidth(min(TEXT_WIDTH, 280))
            # The title's own font is larger.
            follow_font(self, partial(_fit, self, one))
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(one, 100)
            row.addStretch(1)
            column.addLayout(row)
        self.text.setVisible(bool(self.text.text()))
        column.addSpacing(SPACE_S)
        column.addLayout(buttons)
        column.addLayout(self.extra)
        column.addStretch(3)

    def _on_theme_changed(self) -> None:
        assert self._theme
        self.picture.setPixmap(self._theme.icon(self._icon, "accent").pixmap(QSize(48, 48)))


def _fit(state: EmptyState, text: QLabel) -> None:
    text.setMaximumWidth(scaled(state, TEXT_WIDTH))
