"""NavigationRail: the pages of the window, at its left edge."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QLabel,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.language import tr
from app.theme.app_icon import app_pixmap
from app.theme.theme import SPACE_M, SPACE_S, SPACE_XS, Theme

_ICON = 22
_WIDTH = 84
_MARGIN = 3  # with the border, beside the text of a button


class RailButton(QToolButton):
    """One page; a dot says that something goes on there."""

    def __init__(self, theme: Theme, icon: str, text: str, shortcut: str) -> None:
        super().__init__()
        self._theme = theme
        self._icon = icon
        self._busy = False
        self.setText(text)
        self.setCheckable(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        self.setIconSize(QSize(_ICON, _ICON))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setToolTip(f"{text}  ({shortcut})")
        self.setAccessibleName(text)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    @property
    def busy(self) -> bool:
        """Whether the dot is shown."""
        return self._busy

    def set_busy(self, busy: bool) -> None:
        """Show or hide the dot."""
        if busy != self._busy:
            self._busy = busy
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Wide enough for the text when it is bold, as it is while the page is shown."""
        bold = self.font()
        bold.setWeight(QFont.Weight.DemiBold)
        least = QFontMetrics(bold).horizontalAdvance(self.text()) + 2 * _MARGIN
        return super().sizeHint().expandedTo(QSize(least, 0))

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """No letter gives way."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """The button, then the dot."""
        super().paintEvent(event)
        if self._busy:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.palette.accent))
            painter.drawEllipse(QRectF(self.width() / 2 + 9, 7, 7, 7))

    def _on_theme_changed(self) -> None:
        self.setIcon(self._theme.icon(self._icon, "muted", selected="accent"))


class NavigationRail(QFrame):
    """Buttons of which one is checked; the last one stands apart, at the lower end.

    Signals:
        chosen: arg: name of a page.
    """

    chosen = Signal(str)

    def __init__(
        self, pages: list[tuple[str, str, str]], theme: Theme, parent: QWidget | None = None
    ) -> None:
        """`pages` are (name, text, icon) from top to bottom."""
        super().__init__(parent)
        self.setObjectName("rail")
        self.setMinimumWidth(_WIDTH)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.buttons: dict[str, RailButton] = {}
        self._group = QButtonGroup(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_S, SPACE_M, SPACE_S, SPACE_M)
        column.setSpacing(SPACE_XS)
        mark = QLabel()
        mark.setPixmap(app_pixmap(30, self.devicePixelRatioF()))
        mark.setAccessibleName("Runahead")
        column.addWidget(mark, alignment=Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(SPACE_M)
        for number, (name, text, icon) in enumerate(pages, 1):
            button = RailButton(theme, icon, tr(text), f"Ctrl+{number}")
            button.clicked.connect(lambda _=False, name=name: self.chosen.emit(name))
            self.buttons[name] = button
            self._group.addButton(button)
            if number == len(pages):
                column.addStretch()
            column.addWidget(button)

    def show_chosen(self, name: str) -> None:
        """Check a page's button."""
        self.buttons[name].setChecked(True)
