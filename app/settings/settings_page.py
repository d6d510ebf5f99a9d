"""SettingsPage: every option there is, generated from their data, by section or by search."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.background import Background
from app.language import tr
from app.settings.about_view import AboutView
from app.settings.crash_reports_view import CrashReportsView
from app.settings.data_folder_view import DataFolderView
from app.settings.option import Option
from app.settings.option_row import OptionRow
from app.settings.options import OPTIONS
from app.settings.preset_choice import PresetChoice
from app.settings.presets_editor import PresetsEditor
from app.settings.section_view import SectionView
from app.settings.settings import Settings
from app.settings.shortcuts_view import ShortcutsView
from app.settings.storage_view import StorageView
from app.theme.theme import SPACE_M, SPACE_S, SPACE_XL, Theme
from app.widgets.font_sizes import follow_font, scaled
from app.widgets.labels import label
from app.widgets.search_field import SearchField
from app.widgets.side_splitter import SideSplitter

# Title, what it is about, and words by which its parts that are no options are found.
_SECTIONS = (
    ("Appearance", "How the window looks.", ""),
    ("Chats", "Writing, reading, and how the model chooses its words.", ""),
    ("Engine", "How models are opened and computed.", ""),
    ("Storage", "What lies on the disk, and how much of it.", "data folder disk space clean packs"),
    ("Privacy & reports", "Nothing leaves this computer.", "crash reports folder telemetry"),
    ("Shortcuts", "Everything can be done from the keyboard.", "keyboard keys"),
    ("About", "", "version licence license copyright machine"),
)
_WIDTH = 760


class SettingsPage(QWidget):
    """Changes apply at once, or say when they do; nothing has to be saved.

    Signals:
        restart_wanted: The window is to quit and start again, to move the data folder.
    """

    restart_wanted = Signal()

    def __init__(self, settings: Settings, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._theme = theme
        self._background = Background("settings", self)
        self.search = SearchField(theme, tr("Search settings"))
        self.list = QListWidget()
        self.list.setProperty("kind", "side")
        self.list.setAccessibleName(tr("Sections"))
        self.sections = {title: SectionView(tr(title), tr(text)) for title, text, _ in _SECTIONS}
        self.nothing = label(tr("No setting is called that."), "muted")
        self.nothing.hide()
        self.view = QScrollArea()
        for title, section in self.sections.items():
            self.list.addItem(tr(title))
            for option in OPTIONS:
                if option.section == title and option.kind != "presets":
                    section.add_row(self._row(option))
        self._add_other_parts()
        self._lay_out()
        self.list.currentRowChanged.connect(self._on_section_chosen)
        self.search.searched.connect(self._on_searched)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.search.setFocus)
        self.list.setCurrentRow(0)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Lay the list out again: the style sheet that says how high its rows are comes late."""
        super().showEvent(event)
        self.list.scheduleDelayedItemsLayout()

    def show_section(self, title: str) -> None:
        """Show one section, for example "Storage"."""
        self.search.clear()
        self.list.setCurrentRow(list(self.sections).index(title))

    def shut_down(self) -> None:
        """Wait for what is being measured or deleted; no thread is left."""
        self._background.close()

    def _row(self, option: Option) -> OptionRow:
        if option.name == "preset":
            return OptionRow(
                option, self._settings, self._theme, PresetChoice(option, self._settings)
            )
        return OptionRow(option, self._settings, self._theme)

    def _add_other_parts(self) -> None:
        settings, background = self._settings, self._background
        self.presets = PresetsEditor(settings, self._theme)
        self.storage = StorageView(settings, self._theme, background)
        self.data_folder = DataFolderView(settings, background)
        self.crash_reports = CrashReportsView(background)
        self.about = AboutView(background)
        self.data_folder.restart_wanted.connect(self.restart_wanted)
        words = tr("sampling presets temperature top-k top-p min-p grammar")
        self.sections["Chats"].add_part(self.presets, words)
        others: tuple[tuple[str, QWidget], ...] = (
            ("Storage", self.data_folder),
            ("Storage", self.storage),
            ("Privacy & reports", self.crash_reports),
            ("Shortcuts", ShortcutsView(settings)),
            ("About", self.about),
        )
        for title, part in others:
            self.sections[title].add_part(part, tr(_words_of(title)))

    def _lay_out(self) -> None:
        side = QFrame()
        side.setProperty("kind", "panel")
        follow_font(side, lambda: side.setMinimumWidth(scaled(side, 180)))
        left = QVBoxLayout(side)
        left.setContentsMargins(SPACE_M, SPACE_M, SPACE_M, SPACE_M)
        left.setSpacing(SPACE_S)
        left.addWidget(label(tr("Settings"), "title"))
        left.addWidget(self.search)
        left.addWidget(self.list, 1)
        content = QWidget()
        content.setProperty("scrolled", "true")
        column = QVBoxLayout(content)
        column.setContentsMargins(SPACE_XL, SPACE_XL, SPACE_XL, SPACE_XL)
        column.setSpacing(SPACE_XL)
        for section in self.sections.values():
            column.addWidget(section)
        column.addWidget(self.nothing)
        column.addStretch()
        follow_font(
            content, lambda: content.setMaximumWidth(scaled(content, _WIDTH + 2 * SPACE_XL))
        )
        holder = QWidget()
        holder.setProperty("scrolled", "true")
        across = QHBoxLayout(holder)
        across.setContentsMargins(0, 0, 0, 0)
        across.addWidget(content, 1)
        across.addStretch()
        self.view.setWidget(holder)
        self.view.setWidgetResizable(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(SideSplitter(side, self.view, 220, room=420, turns=True))

    def _on_section_chosen(self, number: int) -> None:
        if number < 0:
            return  # a search shows parts of all
        if self.search.text():
            self.search.clear()
        for n, section in enumerate(self.sections.values()):
            section.filter([])
            section.setVisible(n == number)
        self.nothing.hide()
        self.view.verticalScrollBar().setValue(0)

    def _on_searched(self, text: str) -> None:
        words = text.lower().split()
        if not words:
            if self.list.currentRow() < 0:
                self.list.setCurrentRow(0)
            return
        self.list.setCurrentRow(-1)
        found = False
        for section in self.sections.values():
            shown = section.filter(words)
            section.setVisible(shown)
            found = found or shown
        self.nothing.setVisible(not found)
        self.view.verticalScrollBar().setValue(0)


def _words_of(title: str) -> str:
    return next(f"{name} {words}" for name, _, words in _SECTIONS if name == title)
