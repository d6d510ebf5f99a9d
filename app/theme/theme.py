"""Theme: how the app looks now, light or dark, and who wants to know when that changes."""

from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPalette
from PySide6.QtWidgets import QApplication

from app.theme.icons import draw_icon
from app.theme.palette import DARK, LIGHT, Palette
from app.theme.style_sheet import style_sheet

Mode = Literal["system", "light", "dark"]
DEFAULT_FONT_SIZE = 10.5

# Spacing and radius, in logical pixels.
SPACE_XS, SPACE_S, SPACE_M, SPACE_L, SPACE_XL = 4, 8, 12, 16, 24
RADIUS = 8

_ROLES = {"text", "muted", "accent", "accent_text", "success", "warning", "danger"}


class Theme(QObject):
    """Colours, fonts and icons. Widgets that paint themselves listen to `changed`.

    Signals:
        changed: Palette or font size differ.
    """

    changed = Signal()

    def __init__(
        self,
        mode: Mode = "system",
        font_size: float = DEFAULT_FONT_SIZE,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.mode: Mode = mode
        self.font_size = font_size
        self._icons: dict[tuple[str, str, str], QIcon] = {}
        self._app: QApplication | None = None
        self.palette: Palette = DARK if self._wants_dark() else LIGHT
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._update)

    @property
    def is_dark(self) -> bool:
        """True in dark mode."""
        return self.palette is DARK

    def set_mode(self, mode: Mode) -> None:
        """Light, dark, or as the system is."""
        if mode != self.mode:
            self.mode = mode
            if self._app is not None:
                self._tell_system()
            self._update()

    def set_font_size(self, points: float) -> None:
        """Change the size of ordinary text, in points."""
        if points != self.font_size:
            self.font_size = points
            if self._app is not None:
                self._dress()
            self.changed.emit()

    def icon(self, name: str, role: str = "text", *, selected: str = "") -> QIcon:
        """resources/icons/NAME.svg in the colour of `role`; `selected`: its role when checked.

        Ask again when the theme has changed.
        """
        key = (name, role, selected)
        if key not in self._icons:
            chosen = self.colour(selected) if selected else ""
            self._icons[key] = draw_icon(name, self.colour(role), self.palette.muted, chosen)
        return self._icons[key]

    def colour(self, role: str) -> str:
        """The colour of a role that text and icons may have, as "#rrggbb"."""
        if role not in _ROLES:
            raise ValueError(f"{role!r} is no role of text; roles are {', '.join(sorted(_ROLES))}")
        value: str = getattr(self.palette, role)
        return value

    def monospace(self) -> QFont:
        """The font of code and figures in columns, a little smaller than text."""
        font = QFont(self.text_font())
        fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
        font.setFamilies(["JetBrains Mono", "Cascadia Mono", "SF Mono", fixed, "monospace"])
        font.setStyleHint(QFont.StyleHint.Monospace)
        font.setPointSizeF(self.font_size * 0.95)
        return font

    def text_font(self) -> QFont:
        """The font of ordinary text: Inter where it is installed, else the system's."""
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        font.setFamilies(["Inter", *font.families()])
        font.setPointSizeF(self.font_size)
        return font

    def dress(self, app: QApplication) -> None:
        """Give the whole application this look, now and whenever it changes."""
        self._app = app
        self._tell_system()
        app.setStyle("Fusion")  # the one style that a sheet can change everywhere
        self._dress()

    def _wants_dark(self) -> bool:
        if self.mode == "system":
            return QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return self.mode == "dark"

    def _tell_system(self) -> None:
        """So that what the system draws, title bars and its own dialogs, has the same mode."""
        hints = QGuiApplication.styleHints()
        if self.mode == "system":
            hints.unsetColorScheme()
        else:
            dark = self.mode == "dark"
            hints.setColorScheme(Qt.ColorScheme.Dark if dark else Qt.ColorScheme.Light)

    def _update(self) -> None:
        palette = DARK if self._wants_dark() else LIGHT
        if palette is self.palette:
            return
        self.palette = palette
        self._icons.clear()
        if self._app is not None:
            self._dress()
        self.changed.emit()

    def _dress(self) -> None:
        assert self._app is not None
        self._app.setFont(self.text_font())
        self._app.setPalette(self._qt_palette())
        self._app.setStyleSheet(style_sheet(self.palette, self.font_size, dark=self.is_dark))

    def _qt_palette(self) -> QPalette:
        """For what the sheet does not reach: text colours of documents, links, placeholders."""
        colours = self.palette
        group, role = QPalette.ColorGroup, QPalette.ColorRole
        palette = QPalette()
        for one, colour in (
            (role.Window, colours.page),
            (role.WindowText, colours.text),
            (role.Base, colours.raised),
            (role.AlternateBase, colours.panel),
            (role.Text, colours.text),
            (role.Button, colours.raised),
            (role.ButtonText, colours.text),
            (role.BrightText, colours.danger),
            (role.ToolTipBase, colours.raised),
            (role.ToolTipText, colours.text),
            (role.PlaceholderText, colours.muted),
            (role.Highlight, colours.selection),
            (role.HighlightedText, colours.text),
            (role.Link, colours.accent),
            (role.LinkVisited, colours.accent),
            (role.Accent, colours.accent),
            (role.Light, colours.raised),
            (role.Midlight, colours.hover),
            (role.Mid, colours.border),
            (role.Dark, colours.border),
            (role.Shadow, colours.window),
        ):
            palette.setColor(one, QColor(colour))
        for one in (role.WindowText, role.Text, role.ButtonText):
            palette.setColor(group.Disabled, one, QColor(colours.muted))
        return palette
