"""Header: which model, and what is shown beside the page."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.language import tr
from app.shell.model_chooser import ModelChooser
from app.theme.theme import SPACE_M, SPACE_XS, Theme
from app.widgets.icon_button import IconButton


class Header(QFrame):
    """The model chooser at the left, the monitor's switch at the right.

    Signals:
        dock_toggled: Show the monitor beside the page, or not. arg: bool.
    """

    dock_toggled = Signal(bool)

    def __init__(self, chooser: ModelChooser, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.chooser = chooser
        self.dock_button = IconButton(
            theme, "dock", tr("Show the monitor beside the page"), shortcut="Ctrl+Shift+M", size=20
        )
        self.dock_button.setCheckable(True)
        self.dock_button.toggled.connect(self.dock_toggled)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_M, SPACE_XS, SPACE_M, SPACE_XS)
        row.addWidget(chooser, 1)
        row.addWidget(self.dock_button, alignment=Qt.AlignmentFlag.AlignVCenter)
