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
from app.widgets.progress_row import ProgressRow

_WIDTH = 420


class FirstStart(QWidget):
    """Makes the demo model, or leads to a file.

    Signals:
        file_wanted: A person has a GGUF of their own.
    """

    file_wanted = Signal()

    def __init__(self, opener: ModelOpener, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._opener = opener
        self.state = EmptyState(
            tr("Welcome to Runahead"),
            tr(
                "Chat with mixture-of-experts models that are larger than your computer's memory,"
                " several chats at once. To look around, start with a small demo model: it is made"
                " on this computer in a few seconds, and its answers are nonsense."
            ),
            tr("Start with the demo model"),
            second_action=tr("Open a GGUF..."),
            theme=theme,
            icon="spark",
        )
        self.progress = ProgressRow(theme)
        self.failure = label(role="error", wrap=True)
        self.failure.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.hint = label(tr("You can also drop a .gguf file anywhere on this window."), "small")
        self.hint.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._lay_out()
        self.state.acted.connect(self._on_demo_wanted)
        self.state.second_acted.connect(self.file_wanted)
        self.progress.cancelled.connect(opener.cancel_demo)
        opener.demo_progressed.connect(self._on_progressed)
        opener.demo_ended.connect(self._on_ended)

    def _lay_out(self) -> None:
        for widget in (self.progress, self.failure, self.hint):
            follow_font(widget, partial(_fit, widget))
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(widget, 100)
            row.addStretch(1)
            self.state.extra.addLayout(row)
        self.state.extra.setContentsMargins(0, SPACE_XL, 0, 0)
        self.state.extra.setSpacing(SPACE_S)
        self.progress.hide()
        self.failure.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.state)

    def _on_demo_wanted(self) -> None:
        self._show_working(True)
        self.progress.set_progress(tr("Making the demo model"), 0, 0)
        self._opener.make_demo()

    def _on_progressed(self, done: int, total: int) -> None:
        self._show_working(True)
        self.progress.set_progress(tr("Making the demo model"), done, total)

    def _on_ended(self, why: str) -> None:
        self._show_working(False)
        self.failure.setText(why)
        self.failure.setVisible(bool(why))

    def _show_working(self, working: bool) -> None:
        self.progress.setVisible(working)
        self.hint.setVisible(not working)
        self.state.button.setEnabled(not working)
        if working:
            self.failure.hide()


def _fit(widget: QWidget) -> None:
    widget.setMaximumWidth(scaled(widget, _WIDTH))
