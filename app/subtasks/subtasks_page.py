"""SubtasksPage: all tasks on the left, the chosen one or a new one beside them."""

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QInputDialog,
    QListView,
    QMenu,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.data.conversations import Conversations
from app.data.task import Task
from app.engine_service import EngineService
from app.language import tr
from app.settings.settings import Settings
from app.subtasks.item_model import RunModel
from app.subtasks.row_look import RowDelegate
from app.subtasks.run_view import RunView
from app.subtasks.task_form import TaskForm
from app.subtasks.task_run import TaskRun
from app.subtasks.task_runs import TaskRuns
from app.theme.theme import SPACE_M, SPACE_S, Theme
from app.widgets.font_sizes import follow_font, scaled
from app.widgets.labels import label
from app.widgets.side_splitter import SideSplitter
from app.widgets.toast import Toast


class SubtasksPage(QWidget):
    """Works without a model too: earlier results can be read.

    Signals:
        conversation_opened: An item is wanted as a chat. arg: conversation id.
    """

    conversation_opened = Signal(str)

    def __init__(
        self,
        service: EngineService,
        conversations: Conversations,
        settings: Settings,
        theme: Theme,
        parent: QWidget | None = None,
    ):
        super().__init__(parent)
        self._conversations = conversations
        self._theme = theme
        self.runs = TaskRuns(service, conversations, settings, self)
        self.model = RunModel(self.runs, self)
        self.list = QListView()
        self.new_button = QPushButton(tr("New task"))
        self.form = TaskForm(service, settings, theme)
        self.view = RunView(service, settings, theme)
        self.delegate = RowDelegate(theme)
        self._shown: TaskRun | None = None
        self._lay_out()
        self.new_button.clicked.connect(lambda: self.start_new())
        self.list.selectionModel().currentChanged.connect(self._on_selected)
        self.list.customContextMenuRequested.connect(self._on_menu)
        self.form.submitted.connect(self._on_submitted)
        self.view.conversation_opened.connect(self.conversation_opened)
        self.view.branched.connect(self._on_branched)
        self.runs.removed.connect(self._on_removed)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        first = self.runs.all()[:1]
        if first:
            self.show_run(first[0])
        else:
            self.start_new()

    def start_new(self, like: TaskRun | None = None) -> None:
        """Show the form, empty or filled with an earlier task."""
        self._shown = None
        self.list.clearSelection()
        self.list.setCurrentIndex(QModelIndex())
        self.stack.setCurrentWidget(self.form)
        if like is not None:
            self.form.start_from(like.task, [item.text for item in like.items])
        elif self.form.draft.prompt == "" and not self.form.items.items:
            self.form.start_from(None, [])

    def show_run(self, run: TaskRun) -> None:
        """Show a task."""
        index = self.model.index(self.model.row_of(run))
        self.list.setCurrentIndex(index)

    def _lay_out(self) -> None:
        self.list.setModel(self.model)
        self.list.setItemDelegate(self.delegate)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setProperty("kind", "side")
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.setAccessibleName(tr("Tasks"))
        head = QHBoxLayout()
        head.setContentsMargins(SPACE_M, SPACE_M, SPACE_M, SPACE_S)
        head.addWidget(label(tr("Tasks"), "heading"), 1)
        head.addWidget(self.new_button)
        side = QFrame()
        side.setProperty("kind", "panel")
        follow_font(side, lambda: side.setMaximumWidth(scaled(side, 420)))
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.list, 1)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.form)
        self.stack.addWidget(self.view)
        split = SideSplitter(side, self.stack, 248, turns=False)
        whole = QHBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(split)

    def _on_selected(self, index: QModelIndex, _: QModelIndex) -> None:
        if not index.isValid():
            return
        run = self.model.run(index.row())
        if run is not self._shown:
            self._shown = run
            self.view.show_run(run)
        self.stack.setCurrentWidget(self.view)

    def _on_submitted(self, task: Task, items: list[str]) -> None:
        run = self.runs.create(task, items)
        self.form.start_from(None, [])
        self.show_run(run)
        run.run_rest()

    def _on_removed(self, run: TaskRun) -> None:
        if self._shown is not run:
            return
        self.view.show_run(None)
        left = self.runs.all()
        self._shown = None
        if left:
            self.show_run(left[0])
        else:
            self.start_new()

    def _on_branched(self, message_id: str) -> None:
        self.conversation_opened.emit(self._conversations.branch(message_id).id)

    def _on_menu(self, place: QPoint) -> None:
        index = self.list.indexAt(place)
        if not index.isValid():
            return
        run = self.model.run(index.row())
        menu = QMenu(self)
        menu.addAction(tr("Rename…"), lambda: self._ask_title(run))
        menu.addAction(tr("New task from this"), lambda: self.start_new(run))
        menu.addSeparator()
        menu.addAction(tr("Delete"), lambda: self.remove(run))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.list.viewport().mapToGlobal(place))

    def remove(self, run: TaskRun) -> None:
        """Delete a task, with a chance to undo."""
        self.runs.remove(run)
        Toast.show_over(
            self,
            tr("“{title}” was deleted.", title=run.task.title[:40]),
            tr("Undo"),
            lambda: self._restore(run),
        )

    def _restore(self, run: TaskRun) -> None:
        self.runs.restore(run)
        self.show_run(run)

    def _ask_title(self, run: TaskRun) -> None:
        title, ok = QInputDialog.getText(self, tr("Rename task"), tr("Title"), text=run.task.title)
        if ok and title.strip():
            run.rename(title.strip())

    def _on_theme_changed(self) -> None:
        self.new_button.setIcon(self._theme.icon("add"))
        self.list.viewport().update()
