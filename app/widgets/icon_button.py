"""IconButton: a small button with a picture, and a name for those who do not see it."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QToolButton, QWidget

from app.theme.theme import Theme


class IconButton(QToolButton):
    """Its icon follows the theme; its tip, with the shortcut, is its accessible name too."""

    def __init__(
        self,
        theme: Theme,
        icon: str,
        tip: str,
        *,
        shortcut: str = "",
        role: str = "muted",
        size: int = 18,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self._role = role
        self.setIconSize(QSize(size, size))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if shortcut:
            self.setShortcut(QKeySequence(shortcut))
        self.set_tip(tip)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def set_icon(self, icon: str, role: str = "") -> None:
        """Show another icon."""
        self._icon, self._role = icon, role or self._role
        self._on_theme_changed()

    def set_tip(self, tip: str) -> None:
        """Say something else about what it does."""
        keys = self.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        self.setToolTip(f"{tip}  ({keys})" if keys else tip)
        self.setAccessibleName(tip)

    def _on_theme_changed(self) -> None:
        self.setIcon(self._theme.icon(self._icon, self._role, selected="accent"))
