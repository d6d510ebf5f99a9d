"""Banner: something that has happened, above the page, until it is dealt with."""

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.language import tr
from app.theme.theme import SPACE_M, SPACE_S, Theme
from app.widgets.font_sizes import scaled
from app.widgets.icon_button import IconButton
from app.widgets.labels import label, set_kind
from app.widgets.plain import plain

_MOST_ACTION = 190  # pixels, for the words on the button
_ICONS = {"danger": "error", "warning": "warning", "info": "info"}
_ROLES = {"danger": "danger", "warning": "warning", "info": "accent"}


class Banner(QFrame):
    """Hidden until `tell`.

    Attributes:
        returns_focus_to: What has the focus when the banner goes while it has it.

    Signals:
        closed: A person has closed it.
        shown_changed: It was shown or hidden.
    """

    closed = Signal()
    shown_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self._theme = theme
        self._kind = "info"
        self._action: Callable[[], object] | None = None
        self.returns_focus_to: QWidget | None = None
        self.picture = QLabel()
        self.title = label(wrap=True)
        self.title.setObjectName("bannerTitle")
        self.text = label(role="muted", wrap=True)
        self.button = QPushButton()
        self.close_button = IconButton(theme, "close", tr("Dismiss"), size=14)
        self.button.clicked.connect(self._on_acted)
        self.close_button.clicked.connect(self._on_closed)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.title)
        words.addWidget(self.text)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_M, SPACE_S, SPACE_S, SPACE_S)
        row.setSpacing(SPACE_M)
        row.addWidget(self.picture)
        row.addLayout(words, 1)
        row.addWidget(self.button)
        row.addWidget(self.close_button)
        theme.changed.connect(self._on_theme_changed)
        self.hide()

    def tell(
        self,
        title: str,
        text: str = "",
        *,
        kind: str = "info",
        action: str = "",
        on_action: Callable[[], object] | None = None,
        name: str = "",
    ) -> None:
        """Show it; kind is info, warning or danger. `name` is whole what the title has short."""
        self._kind, self._action = kind, on_action
        set_kind(self, kind)
        self.title.setText(title)
        self.title.setToolTip(plain(name) if name and name not in title else "")
        self.text.setText(text)
        self.text.setVisible(bool(text))
        room = scaled(self.button, _MOST_ACTION)
        shown = self.button.fontMetrics().elidedText(action, Qt.TextElideMode.ElideMiddle, room)
        self.button.setText(shown.replace("&", "&&"))  # else it would underline what follows
        self.button.setToolTip(plain(action) if shown != action else "")
        self.button.setVisible(bool(action))
        self._on_theme_changed()
        self.show()

    def setVisible(self, visible: bool) -> None:  # noqa: N802, Qt's name
        """Show or hide it; show() and hide() come here too."""
        changed = visible == self.isHidden()
        focused = self.focusWidget()
        if not visible and focused and focused.hasFocus() and self.returns_focus_to:
            self.returns_focus_to.setFocus()
        super().setVisible(visible)
        if changed:
            self.shown_changed.emit()

    def _on_acted(self) -> None:
        action = self._action
        self.hide()
        if action:
            action()

    def _on_closed(self) -> None:
        self.hide()
        self.closed.emit()

    def _on_theme_changed(self) -> None:
        icon = self._theme.icon(_ICONS[self._kind], _ROLES[self._kind])
        self.picture.setPixmap(icon.pixmap(QSize(20, 20)))
