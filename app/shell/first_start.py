"""FirstStart: what a new user sees: one button that leads to a chat."""

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.language import tr
from app.shell.model_opener import ModelOpener
from app.theme.theme import SPACE_S, SPACE_XL, Theme
from app.widgets.empty_state import EmptyState
from app.widgets.font_sizes import follow_font, scaled
from app.widgets.labels import label

_WIDTH = 420


class FirstStart(QWidget):
    """Leads to chats with the demo model, or to a file.

    Signals:
        demo_chats_wanted: Four chats with the demo model, please.
        file_wanted: A person has a GGUF of their own.
    """

    demo_chats_wanted = Signal()
    file_wanted = Signal()

    def __init__(self, opener: ModelOpener, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = EmptyState(
            tr("Welcome to Runahead"),
            tr(
                "Chat with mixture-of-experts models that are larger than your computer's memory,"
                " several chats at once. To look around, begin with the tiny demo model that comes"
                " with it. It knows little, and its answers are not to be relied on."
            ),
            tr("Open four demo chats"),
            second_action=tr("Open a GGUF…"),
            theme=theme,
            icon="spark",
        )
        self.failure = label(role="error", wrap=True)
        self.failure.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.hint = label(tr("You can also drop a .gguf file anywhere on this window."), "small")
        self.hint.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._lay_out()
        self.state.acted.connect(self._on_demo_wanted)
        self.state.second_acted.connect(self.file_wanted)
        opener.demo_ended.connect(self._on_ended)

    def _lay_out(self) -> None:
        for widget in (self.failure, self.hint):
            follow_font(widget, partial(_fit, widget))
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(widget, 100)
            row.addStretch(1)
            self.state.extra.addLayout(row)
        self.state.extra.setContentsMargins(0, SPACE_XL, 0, 0)
        self.state.extra.setSpacing(SPACE_S)
        self.failure.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.state)

    def _on_demo_wanted(self) -> None:
        self.state.button.setEnabled(False)
        self.failure.hide()
        self.demo_chats_wanted.emit()

    def _on_ended(self, why: str) -> None:
        self.state.button.setEnabled(True)
        self.failure.setText(why)
        self.failure.setVisible(bool(why))


def _fit(widget: QWidget) -> None:
    widget.setMaximumWidth(scaled(widget, _WIDTH))
