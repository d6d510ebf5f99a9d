"""RunView: a task at work: how far it is, its items, its results."""

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListView,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from app.engine_service import EngineService
from app.language import tr
from app.settings.settings import Settings
from app.subtasks.export_menu import ExportMenu
from app.subtasks.item_detail import ItemDetail
from app.subtasks.item_model import ItemModel
from app.subtasks.results_view import ResultsView
from app.subtasks.row_look import RowDelegate
from app.subtasks.task_run import TaskRun
from app.subtasks.words import run_line
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, SPACE_XS, Theme
from app.widgets.banner import Banner
from app.widgets.card import line
from app.widgets.font_sizes import follow_font, scaled
from app.widgets.labels import ElidedLabel, set_kind
from app.widgets.side_splitter import SideSplitter

_FIGURES_MS = 250


class RunView(QWidget):
    """Follows the run that `show_run` names.

    Signals:
        conversation_opened: arg: conversation id.
        branched: A new chat is wanted that begins with a result. arg: message id.
    """

    conversation_opened = Signal(str)
    branched = Signal(str)

    def __init__(
        self,
        service: EngineService,
        settings: Settings,
        theme: Theme,
        parent: QWidget | None = None,
    ):
        super().__init__(parent)
        self._service = service
        self._theme = theme
        self._run: TaskRun | None = None
        self._dismissed = ""  # the trouble that a person has read
        self.title = ElidedLabel("", "title")
        self.figures = ElidedLabel("", "muted")
        self.bar = QProgressBar()
        self.stop_button = QPushButton(tr("Stop all"))
        self.rest_button = QPushButton()
        self.sum_button = QPushButton(tr("Sum up"))
        self.export = ExportMenu(settings, theme)
        self.banner = Banner(theme)
        self.tabs = QTabBar()
        self.items = QListView()
        self.model = ItemModel(self)
        self.delegate = RowDelegate(theme)
        self.detail = ItemDetail(theme)
        self.results = ResultsView(theme)
        self._lay_out()
        self._connect()

    def show_run(self, run: TaskRun | None) -> None:
        """Show another task."""
        if self._run is not None:
            for signal in (self._run.changed, self._run.renamed, self._run.summary.changed):
                signal.disconnect(self._update)
        self._run, self._dismissed = run, ""
        self.model.set_run(run)
        self.results.show_run(run)
        self.export.set_run(run)
        if run is not None:
            for signal in (run.changed, run.renamed, run.summary.changed):
                signal.connect(self._update)
            self.select(0)
            finished = not run.is_active and run.counts["done"] == len(run.items)
            self.tabs.setCurrentIndex(1 if finished else 0)
        else:
            self.detail.show_item(None, -1)
        self._update()

    def select(self, place: int) -> None:
        """Show an item beside the list."""
        index = self.model.index(place)
        flag = QItemSelectionModel.SelectionFlag.ClearAndSelect
        self.items.selectionModel().setCurrentIndex(index, flag)
        self.detail.show_item(self._run, place)

    def _lay_out(self) -> None:
        set_kind(self.rest_button, "primary")
        self.bar.setTextVisible(False)
        for text in (tr("Items"), tr("Results")):
            self.tabs.addTab(text)
        self.tabs.setExpanding(False)
        self.tabs.setDrawBase(False)
        self.items.setModel(self.model)
        self.items.setItemDelegate(self.delegate)
        self.items.setMouseTracking(True)
        self.items.setUniformItemSizes(True)
        self.items.setProperty("kind", "side")
        self.items.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.items.setAccessibleName(tr("Items"))
        split = SideSplitter(self.items, self.detail, 330, room=280, turns=True)
        follow_font(self.items, lambda: self.items.setMinimumWidth(scaled(self.items, 220)))
        self.stack = QStackedWidget()
        self.stack.addWidget(split)
        self.stack.addWidget(self.results)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._head())
        column.addWidget(line())
        column.addWidget(self.stack, 1)

    def _head(self) -> QVBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(SPACE_S)
        row.addWidget(self.title, 1)
        for button in (self.stop_button, self.rest_button, self.sum_button, self.export):
            row.addWidget(button)
        below = QHBoxLayout()
        below.setSpacing(SPACE_M)
        below.addWidget(self.figures, 1)
        head = QVBoxLayout()
        head.setContentsMargins(SPACE_L, SPACE_M, SPACE_L, 0)
        head.setSpacing(SPACE_S)
        head.addLayout(row)
        head.addLayout(below)
        head.addWidget(self.bar)
        head.addWidget(self.banner)
        head.addSpacing(SPACE_XS)
        head.addWidget(self.tabs)
        return head

    def _connect(self) -> None:
        self.stop_button.clicked.connect(self._on_stopped)
        self.rest_button.clicked.connect(self._on_rest)
        self.sum_button.clicked.connect(self._on_sum)
        self.banner.closed.connect(self._on_dismissed)
        self.tabs.currentChanged.connect(self.stack.setCurrentIndex)
        self.items.selectionModel().currentChanged.connect(self._on_selected)
        self.items.doubleClicked.connect(self._on_opened)
        self.items.activated.connect(self._on_opened)
        self.detail.conversation_opened.connect(self.conversation_opened)
        self.detail.branched.connect(self.branched)
        self.results.branched.connect(self.branched)
        self._theme.changed.connect(self._on_theme_changed)
        self._service.state_changed.connect(self._update)
        self._clock = QTimer(self)
        self._clock.setInterval(_FIGURES_MS)
        self._clock.timeout.connect(self._update)
        self._on_theme_changed()

    def _update(self, _: object = None) -> None:
        run = self._run
        if run is None:
            self._clock.stop()
            return
        busy = run.is_active or run.summary.is_active
        ready = self._service.state.phase == "ready"
        n_done, n_rest = run.counts["done"], run.n_unfinished
        self.title.setText(run.task.title)
        self.figures.setText(run.summary.progress or run_line(run))
        self.bar.setRange(0, max(1, len(run.items)))
        self.bar.setValue(n_done)
        set_kind(self.bar, "success" if n_done == len(run.items) else "")
        self.stop_button.setVisible(busy)
        self.rest_button.setVisible(not run.is_active and n_rest > 0)
        fresh = n_done == 0 and not run.counts["stopped"] and not run.counts["failed"]
        words = tr("Run {n} items", n=n_rest) if fresh else tr("Run the rest ({n})", n=n_rest)
        self.rest_button.setText(words)
        self.rest_button.setEnabled(ready)
        self.sum_button.setVisible(not busy and n_done > 1)
        self.sum_button.setText(tr("Sum up again") if run.task.summary else tr("Sum up"))
        self.sum_button.setEnabled(ready)
        self.export.setEnabled(n_done > 0)
        self._tell_trouble(run, ready=ready)
        if busy and not self._clock.isActive():
            self._clock.start()
        elif not busy:
            self._clock.stop()

    def _tell_trouble(self, run: TaskRun, *, ready: bool) -> None:
        if self._dismissed and self._dismissed == (run.trouble or run.summary.trouble):
            return
        self._dismissed = ""
        if run.trouble:
            n = run.n_unfinished
            title = tr("{n} items are unfinished", n=n) if n != 1 else tr("1 item is unfinished")
            offer = self._service.state.phase == "failed" and self._service.state.crashed
            self.banner.tell(
                title,
                run.trouble,
                kind="warning",
                action=tr("Run the rest") if ready else tr("Restart the engine") if offer else "",
                on_action=self._on_rest if ready else self._service.restart,
            )
        elif run.summary.trouble:
            self.banner.tell(tr("There is no summary"), run.summary.trouble, kind="warning")
        else:
            self.banner.hide()

    def _on_dismissed(self) -> None:
        if self._run is not None:
            self._dismissed = self._run.trouble or self._run.summary.trouble

    def _on_stopped(self) -> None:
        if self._run is not None:
            self._run.stop_all()

    def _on_rest(self) -> None:
        if self._run is not None:
            self._run.run_rest()

    def _on_sum(self) -> None:
        if self._run is not None:
            self.tabs.setCurrentIndex(1)
            self._run.summarise()

    def _on_selected(self, index: QModelIndex, _: QModelIndex) -> None:
        self.detail.show_item(self._run, index.row())

    def _on_opened(self, index: QModelIndex) -> None:
        if self._run is not None and (chat := self._run.chat(index.row())):
            self.conversation_opened.emit(chat)

    def _on_theme_changed(self) -> None:
        self.stop_button.setIcon(self._theme.icon("stop"))
        self.sum_button.setIcon(self._theme.icon("spark", "accent"))
        self.rest_button.setIcon(self._theme.icon("play", "accent_text"))
        for button in (self.stop_button, self.sum_button, self.rest_button):
            button.setIconSize(QSize(16, 16))
        self.items.viewport().update()
