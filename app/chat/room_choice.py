"""RoomChoice: what to do when a chat no longer fits the context. Nothing is ever cut silently."""

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QPushButton, QVBoxLayout, QWidget

from app.language import tr
from app.theme.theme import SPACE_M, SPACE_S, Theme
from app.widgets.labels import label, set_kind


class RoomChoice(QFrame):
    """Hidden until `ask`.

    Signals:
        chosen: arg: "summary", "trim" or "stop".
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None):
        super().__init__(parent)
        self.setObjectName("banner")
        set_kind(self, "warning")
        self._text = label(wrap=True)
        self._title = label(tr("This chat no longer fits the model's context"))
        self._title.setObjectName("bannerTitle")
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_M, SPACE_S, SPACE_M, SPACE_M)
        column.setSpacing(SPACE_S)
        column.addWidget(self._title)
        column.addWidget(self._text)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._row.setSpacing(SPACE_S)
        for what, text, tip in (
            (
                "summary",
                tr("New chat with a summary"),
                tr("The model sums up what was said; a new chat begins with that."),
            ),
            (
                "trim",
                tr("Go on without the oldest turns"),
                tr("A new chat has the latest turns only; this one stays as it is."),
            ),
            ("stop", tr("Not now"), tr("Nothing is sent.")),
        ):
            button = QPushButton(text)
            button.setToolTip(tip)
            button.setObjectName(what)
            set_kind(button, "quiet" if what == "stop" else "")
            button.clicked.connect(self._on_clicked)
            self._row.addWidget(button)
        self._row.addStretch(1)
        column.addLayout(self._row)
        self.hide()

    def ask(self, n_tokens: int, context: int) -> None:
        """Say how it stands, and wait for a choice."""
        self._text.setText(
            tr(
                "It has {n} tokens, and prompt and reply together may have {total}. Nothing was"
                " sent to the model; your message is saved. A larger context can be chosen in"
                " Settings.",
                n=f"{n_tokens:,}",
                total=f"{context:,}",
            )
        )
        self.show()

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Narrow enough for the buttons below each other."""
        widths = [button.sizeHint().width() for button in self.findChildren(QPushButton)]
        return QSize(max(widths) + 2 * SPACE_M, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802, Qt's name
        """Put the buttons beside each other, or below where there is no room for that."""
        super().resizeEvent(event)
        widths = [button.sizeHint().width() + SPACE_S for button in self.findChildren(QPushButton)]
        direction = QBoxLayout.Direction
        fits = sum(widths) + 2 * SPACE_M <= self.width()
        self._row.setDirection(direction.LeftToRight if fits else direction.TopToBottom)

    def _on_clicked(self) -> None:
        self.hide()
        self.chosen.emit(self.sender().objectName())
