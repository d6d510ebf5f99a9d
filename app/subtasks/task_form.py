"""TaskForm: what is to be done, for which items, and how."""

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLayout,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.data.task import Task
from app.engine_service import EngineService
from app.language import tr
from app.settings.settings import Settings
from app.subtasks import prompt
from app.subtasks.item_lists import MOST_ITEMS
from app.subtasks.items_edit import ItemsEdit, set_text
from app.subtasks.splitter import Splitter
from app.theme.theme import SPACE_M, SPACE_S, SPACE_XL, SPACE_XS, Theme
from app.widgets.ask_file import ask_files
from app.widgets.card import line
from app.widgets.font_sizes import follow_font, follow_size, scaled
from app.widgets.labels import ElidedLabel, label, set_kind, set_role
from engine.options import MAX_REQUESTS

COLUMN = 760
_WIDE = 720  # pixels, from which on all choices have room in a row
_NARROW = 530  # pixels, below which two of them have none
_TASK_LINES = 4
_FEW_ITEMS, _MANY_ITEMS = 6, 24  # lines of the list


class TaskForm(QWidget):
    """Makes a Task and its items; whoever listens starts it.

    Signals:
        submitted: args: Task without id, list of items.
    """

    submitted = Signal(object, list)

    def __init__(
        self,
        service: EngineService,
        settings: Settings,
        theme: Theme,
        parent: QWidget | None = None,
    ):
        super().__init__(parent)
        self._service = service
        self._settings = settings
        self._theme = theme
        self._splitter = Splitter(service, settings, self)
        self._is_split = False
        self.task = QPlainTextEdit()
        self.items = ItemsEdit()
        self.system = QPlainTextEdit()
        self.preset = QComboBox()
        self.at_once = QSpinBox()
        self.summarise = QCheckBox(tr("Sum the results up at the end"))
        self.split_button = QPushButton(tr("Let the model split the task"))
        self.import_button = QPushButton(tr("Import…"))
        self.system_button = QPushButton(tr("Add a system prompt"))
        self.run_button = QPushButton()
        self.n_items = ElidedLabel(role="muted")
        self.n_items.setMinimumWidth(1)  # the button that runs them says it too
        self.notice = label(role="muted", wrap=True)
        self.example = ElidedLabel("", "small")
        self._fill()
        self._lay_out()
        self._connect()
        self._update()

    @property
    def draft(self) -> Task:
        """What the form says, without an id."""
        return Task(
            id="",
            title="",
            prompt=self.task.toPlainText().strip(),
            system_prompt=self.system.toPlainText().strip(),
            preset=self.preset.currentText(),
            at_once=self.at_once.value(),
            is_split=self._is_split,
            summarise=self.summarise.isChecked(),
        )

    def start_from(self, task: Task | None, items: list[str]) -> None:
        """Fill the form with an earlier task, or empty it; Ctrl+Z brings back what was there."""
        self._splitter.stop()
        self._end_split("")
        set_text(self.task, task.prompt if task else "")
        self.items.set_items(items)
        set_text(self.system, task.system_prompt if task else "")
        self.system.setVisible(bool(task and task.system_prompt))
        self.system_button.setVisible(not self.system.isVisibleTo(self))
        name = task.preset if task else str(self._settings.get("preset"))
        self.preset.setCurrentText(self._settings.preset(name).name)
        self.at_once.setValue(task.at_once if task else 0)
        self.summarise.setChecked(bool(task and task.summarise))
        self._is_split = bool(task and task.is_split)
        self.task.setFocus()
        self._update()

    def _fill(self) -> None:
        self.task.setAccessibleName(tr("Task"))
        self.task.setPlaceholderText(
            tr("For example: Write a short portrait of {place}.").replace("{place}", prompt.PLACE)
        )
        self.task.setTabChangesFocus(True)
        self.system.setAccessibleName(tr("System prompt"))
        self.system.setPlaceholderText(tr("What the model should know in every session."))
        self.system.setTabChangesFocus(True)
        self.system.hide()
        self.preset.addItems([preset.name for preset in self._settings.presets])
        self.preset.setCurrentText(str(self._settings.get("preset")))
        self.preset.setAccessibleName(tr("Sampling"))
        self.at_once.setRange(0, MAX_REQUESTS)
        self.at_once.setSpecialValueText(tr("As many as possible"))
        self.at_once.setAccessibleName(tr("Sessions at once"))
        for widget in (self.preset, self.at_once):  # equally high
            widget.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Minimum)
        set_kind(self.run_button, "primary")
        set_kind(self.system_button, "link")
        follow_font(self.task, self._fit_heights)
        self._on_theme_changed()

    def _fit_heights(self) -> None:
        height = self.task.fontMetrics().lineSpacing()
        self.task.setFixedHeight(height * _TASK_LINES + SPACE_XL)
        self.system.setFixedHeight(height * 3 + SPACE_XL)
        self.items.setMinimumHeight(height * _FEW_ITEMS + SPACE_XL)
        self.items.setMaximumHeight(height * _MANY_ITEMS + SPACE_XL)

    def _lay_out(self) -> None:
        column = QVBoxLayout()
        column.setSpacing(SPACE_S)
        column.addWidget(label(tr("New task"), "title"))
        column.addWidget(
            label(
                tr(
                    "The same task for many items, or one task in parts: every item has a session "
                    "of its own, and they run side by side."
                ),
                "muted",
                wrap=True,
            )
        )
        column.addSpacing(SPACE_M)
        head = QHBoxLayout()
        head.addWidget(label(tr("Task"), "heading"))
        head.addStretch()
        head.addWidget(self.system_button)
        column.addLayout(head)
        column.addWidget(self.task)
        hint = tr("{item} stands for each item. Without it, the item follows the task.")
        column.addWidget(label(hint, "small", wrap=True))
        column.addWidget(self.system)
        column.addSpacing(SPACE_S)
        column.addLayout(self._items_head())
        column.addWidget(self.items, 100)
        column.addWidget(self.example)
        column.addSpacing(SPACE_S)
        column.addLayout(self._choices())
        column.addStretch(1)
        self._scroll(column)
        follow_size(self, self._fit_choices)

    def _items_head(self) -> QGridLayout:
        self._head = grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_S)
        grid.setVerticalSpacing(SPACE_S)
        grid.addWidget(label(tr("Items"), "heading"), 0, 0)
        grid.addWidget(self.n_items, 0, 1)
        grid.addWidget(self.split_button, 0, 3)
        grid.addWidget(self.import_button, 0, 4)
        grid.setColumnStretch(2, 1)
        return grid

    def _fit_choices(self) -> None:
        """Where there is little room, choices go below others."""
        wide = self.width() >= scaled(self, _WIDE)
        narrow = self.width() < scaled(self, _NARROW)
        _move(self._head, self.split_button, (1, 0, 1, 5) if narrow else (0, 3, 1, 1))
        _move(self._grid, self._at_once_label, (2, 0, 1, 1) if narrow else (0, 1, 1, 1))
        _move(self._grid, self.at_once, (3, 0, 1, 1) if narrow else (1, 1, 1, 1))
        below = (4, 0, 1, 3) if narrow else (2, 0, 1, 3)
        _move(self._grid, self.summarise, (1, 2, 1, 1) if wide else below)

    def _choices(self) -> QGridLayout:
        self._grid = grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_XL)
        grid.setVerticalSpacing(SPACE_XS)
        self._at_once_label = label(tr("At once"), "small")
        grid.addWidget(label(tr("Sampling"), "small"), 0, 0)
        grid.addWidget(self.preset, 1, 0)
        grid.addWidget(self._at_once_label, 0, 1)
        grid.addWidget(self.at_once, 1, 1)
        grid.addWidget(self.summarise, 1, 2)
        grid.setColumnStretch(3, 1)
        return grid

    def _foot(self) -> QHBoxLayout:
        """Stays where it is while the rest scrolls."""
        words = QHBoxLayout()
        words.setSpacing(SPACE_M)
        words.addWidget(self.notice, 1)
        words.addWidget(self.run_button)
        return words

    def _scroll(self, column: QVBoxLayout) -> None:
        """A column of readable width, which scrolls when the window is low."""
        column.setContentsMargins(0, 0, 0, 0)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setWidget(_centred(column, SPACE_XL, SPACE_M))
        foot = self._foot()
        foot.setContentsMargins(0, 0, 0, 0)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(area, 1)
        whole.addWidget(line())
        whole.addWidget(_centred(foot, SPACE_M, SPACE_M))

    def _connect(self) -> None:
        self.task.textChanged.connect(self._update)
        self.items.textChanged.connect(self._update)
        self.items.refused.connect(lambda why: self._say(why, "error"))
        self.split_button.clicked.connect(self._on_split)
        self.import_button.clicked.connect(self._on_import)
        self.system_button.clicked.connect(self._on_system)
        self.run_button.clicked.connect(self._on_run)
        QShortcut(QKeySequence("Ctrl+Return"), self, self._on_run)
        self._splitter.progressed.connect(self._on_split_progressed)
        self._splitter.split.connect(self._on_items_named)
        self._splitter.failed.connect(self._on_split_failed)
        self._service.state_changed.connect(self._update)
        self._settings.changed.connect(self._on_setting_changed)
        self._theme.changed.connect(self._on_theme_changed)

    @property
    def _is_ready(self) -> bool:
        return self._service.state.phase == "ready"

    def _update(self, _: object = None) -> None:
        items, draft = self.items.items, self.draft
        n = len(items)
        words = tr("{n} items", n=f"{n:,}") if n != 1 else tr("1 item")
        self.n_items.setText(words if n < MOST_ITEMS else tr("{n} items, the most", n=f"{n:,}"))
        self.n_items.setVisible(bool(n))
        self.run_button.setText(
            tr("Run {n} items", n=f"{n:,}") if n > 1 else tr("Run") if not n else tr("Run 1 item")
        )
        can_run = bool(draft.prompt and items) and self._is_ready and not self._splitter.is_active
        self.run_button.setEnabled(can_run)
        self.split_button.setEnabled(
            self._splitter.is_active or (bool(draft.prompt) and self._is_ready)
        )
        asked = prompt.item_text(draft, items[0]) if items and draft.prompt else ""
        shown = " ".join(asked.split())
        self.example.setText(tr("First prompt: {prompt}", prompt=shown) if shown else "")
        if not self._splitter.is_active and not self.notice.property("said"):
            self.notice.setText("" if self._is_ready else tr("Load a model to run this."))

    def _say(self, text: str, role: str = "muted") -> None:
        self.notice.setProperty("said", bool(text))
        set_role(self.notice, role)
        self.notice.setText(text)

    def _on_split(self) -> None:
        if self._splitter.is_active:
            self._splitter.stop()
            self._end_split("")
            return
        draft = self.draft
        self._splitter.start(draft.prompt, draft.system_prompt, draft.preset)
        self.split_button.setText(tr("Stop splitting"))
        self._say(tr("The model is splitting the task…"))
        self._update()

    def _on_split_progressed(self, n_tokens: int) -> None:
        self._say(tr("The model is splitting the task… {n} tokens", n=n_tokens))

    def _on_items_named(self, items: list[str]) -> None:
        self._is_split = True
        self.items.set_items(items)
        self._end_split(tr("{n} parts. Change them as you like, then run them.", n=len(items)))

    def _on_split_failed(self, why: str) -> None:
        self._end_split(why, "error")

    def _end_split(self, text: str, role: str = "muted") -> None:
        self.split_button.setText(tr("Let the model split the task"))
        self._say(text, role)
        self._update()

    def _on_import(self) -> None:
        ask_files(
            self,
            self._settings,
            tr("Import items"),
            lambda paths: self.items.read_file(paths[0]),
            name_filter=tr("Lists (*.txt *.csv *.tsv *.md *.json);;All files (*)"),
            one=True,
        )

    def _on_system(self) -> None:
        self.system.show()
        self.system_button.hide()
        self.system.setFocus()

    def _on_run(self) -> None:
        if self.run_button.isEnabled():
            self._say("")
            self.submitted.emit(self.draft, self.items.items)

    def _on_setting_changed(self, name: str) -> None:
        if name == "presets":
            chosen = self.preset.currentText()
            self.preset.clear()
            self.preset.addItems([preset.name for preset in self._settings.presets])
            self.preset.setCurrentText(self._settings.preset(chosen).name)

    def _on_theme_changed(self) -> None:
        self.split_button.setIcon(self._theme.icon("spark", "accent"))
        self.import_button.setIcon(self._theme.icon("file", "muted"))
        for button in (self.split_button, self.import_button):
            button.setIconSize(QSize(16, 16))


def _move(grid: QGridLayout, widget: QWidget, place: tuple[int, int, int, int]) -> None:
    """To this row and column, over so many rows and columns."""
    if grid.getItemPosition(grid.indexOf(widget)) != place:
        grid.removeWidget(widget)
        grid.addWidget(widget, *place)


def _centred(content: QLayout, above: int, below: int) -> QWidget:
    """A column of readable width in the middle."""
    inner = QWidget()
    inner.setProperty("scrolled", "true")
    follow_font(inner, lambda: inner.setMaximumWidth(scaled(inner, COLUMN)))
    inner.setLayout(content)
    outer = QWidget()
    outer.setProperty("scrolled", "true")
    row = QHBoxLayout(outer)
    row.setContentsMargins(SPACE_XL, above, SPACE_XL, below)
    row.addStretch(1)
    row.addWidget(inner, 100)
    row.addStretch(1)
    return outer
