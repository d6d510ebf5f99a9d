"""ModelsPage: the models on this computer: add, look into, fit, pack, load, remove."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QModelIndex, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QListView,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.background import Background
from app.engine_service import EngineService
from app.language import tr
from app.models.actions import GGUF_FILTER, ModelActions
from app.models.add_bar import AddBar
from app.models.adding import Adding
from app.models.details import ModelDetails
from app.models.inspections import Inspections
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from app.models.machine_memory import MachineMemory, machine_memory
from app.models.model_list import MODEL_ROLE, ModelListModel, SortedModels, sort_labels
from app.models.model_row import ModelRow
from app.models.packing import Packing
from app.settings.settings import Settings
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, Theme
from app.widgets.ask_file import ask_files, ask_folder
from app.widgets.banner import Banner
from app.widgets.empty_state import EmptyState
from app.widgets.font_sizes import follow_font, scaled
from app.widgets.labels import label, set_kind
from app.widgets.search_field import SearchField
from app.widgets.side_splitter import SideSplitter
from app.widgets.toast import Toast
from engine.demo_model import demo_model
from engine.errors import EngineError

MEMORY_EVERY_MS = 4000


class ModelsPage(QWidget):
    """List and details, beside each other.

    Files are dropped onto the window, which calls `add_paths`. What comes later, such as a
    catalogue, has its place beside the title.
    """

    def __init__(
        self,
        service: EngineService,
        library: ModelLibrary,
        settings: Settings,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._service = service
        self._library = library
        self._settings = settings
        self._background = Background("models-page", self)
        self.packing = Packing(service, library, self)
        self.adding = Adding(service, library, self)
        self.inspections = Inspections(service, library, self)
        self.model_actions = ModelActions(service, library, self.packing, settings, self)
        self._list_model = ModelListModel(library, service, self.packing, self)
        self._sorted = SortedModels(self._list_model, self)
        self.banner = Banner(theme)
        self.add_bar = AddBar(theme, self.adding)
        self.search = SearchField(theme, tr("Search models"))
        self.order = QComboBox()
        for by, text in sort_labels():
            self.order.addItem(text, by)
        self.order.setAccessibleName(tr("Order"))
        self.list = QListView()
        self.list.setModel(self._sorted)
        self.list.setItemDelegate(ModelRow(theme, self.list))
        self.details = ModelDetails(
            *(service, library, self.packing, self.inspections, self.model_actions, settings, theme)
        )
        self.nothing = label(tr("No model is called that."), "muted", wrap=True)
        self.beside = QStackedWidget()  # the details, or a blank that holds their place
        self.add_button = QPushButton(tr("Add model…"))
        self.folder_button = QPushButton(tr("Add folder…"))
        self.empty = EmptyState(
            tr("Add your first model"),
            tr(
                "Runahead runs mixture-of-experts models in GGUF format, also when they are larger"
                " than memory. Choose a file, drop one here, or begin with the tiny demo model that"
                " comes with Runahead."
            ),
            tr("Add model…"),
            second_action=tr("Add the demo model"),
            theme=theme,
            icon="models",
        )
        self._timer = QTimer(self)
        self._timer.setInterval(MEMORY_EVERY_MS)
        self._lay_out()
        self._connect()
        self._on_rows_changed()

    # What others may ask for.

    def add_paths(self, paths: list[Path]) -> None:
        """Add files and folders."""
        self.banner.hide()
        self.adding.add(paths)

    def choose_files(self) -> None:
        """Ask for files to add."""
        ask_files(
            self,
            self._settings,
            tr("Add models"),
            self.add_paths,
            place="models",
            name_filter=GGUF_FILTER,
        )

    def choose_folder(self) -> None:
        """Ask for a folder whose models are added."""
        ask_folder(
            self,
            self._settings,
            tr("Add a folder of models"),
            lambda folder: self.add_paths([folder]),
            place="models",
        )

    def select(self, id: str) -> None:
        """Show this model."""
        index = self._sorted.mapFromSource(self._list_model.index(self._list_model.row_of(id)))
        if index.isValid():
            self.list.setCurrentIndex(index)
            self.list.scrollTo(index)

    # Qt's.

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Look at disks and memory whenever the page is looked at."""
        super().showEvent(event)
        self._library.look()
        self._on_timeout()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802, Qt's name
        """Nobody looks: rest."""
        self._timer.stop()
        super().hideEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802, Qt's name
        """End what goes on in threads."""
        self._timer.stop()
        for part in (self.adding, self.packing, self._background):
            part.close()
        super().closeEvent(event)

    # Inside.

    def _lay_out(self) -> None:
        set_kind(self.add_button, "primary")
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setMouseTracking(True)
        self.list.setUniformItemSizes(True)
        self.list.setAccessibleName(tr("Models"))
        head = QHBoxLayout()
        head.setContentsMargins(SPACE_L, SPACE_M, SPACE_L, 0)
        head.setSpacing(SPACE_S)
        head.addWidget(label(tr("Models"), "title"))
        head.addStretch()
        head.addWidget(self.folder_button)
        head.addWidget(self.add_button)
        told = QVBoxLayout()
        told.setContentsMargins(SPACE_L, 0, SPACE_L, 0)
        told.addWidget(self.banner)
        told.addWidget(self.add_bar)
        tools = QHBoxLayout()
        tools.setSpacing(SPACE_S)
        tools.addWidget(self.search, 1)
        tools.addWidget(self.order)
        side = QWidget()
        column = QVBoxLayout(side)
        column.setContentsMargins(SPACE_L, SPACE_S, SPACE_S, SPACE_S)
        column.setSpacing(SPACE_S)
        column.addLayout(tools)
        column.addWidget(self.nothing)
        column.addWidget(self.list, 1)
        follow_font(side, lambda: side.setMinimumWidth(scaled(side, 260)))
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.beside.addWidget(self.details)
        self.beside.addWidget(QWidget())
        split = SideSplitter(side, self.beside, 300, room=460, turns=True)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(split)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(SPACE_S)
        page.addLayout(head)
        page.addLayout(told)
        page.addWidget(self.stack, 1)

    def _connect(self) -> None:
        self.add_button.clicked.connect(self.choose_files)
        self.folder_button.clicked.connect(self.choose_folder)
        self.empty.acted.connect(self.choose_files)
        self.empty.second_acted.connect(self._on_demo_asked)
        self.search.searched.connect(self._sorted.search)
        self.order.activated.connect(lambda: self._sorted.sort_by(self.order.currentData()))
        self.list.selectionModel().currentChanged.connect(self._on_current_changed)
        self.list.activated.connect(lambda _: self.details.act())
        for signal in (
            self._sorted.rowsInserted,
            self._sorted.rowsRemoved,
            self._sorted.modelReset,
            self._sorted.layoutChanged,
        ):
            signal.connect(self._on_rows_changed)
        self.adding.finished.connect(self._on_added)
        self.add_bar.told.connect(self._tell)
        self.model_actions.told.connect(lambda title, text: self._tell(title, text, "danger"))
        self.model_actions.removed.connect(self._on_removed)
        self._library.failed.connect(lambda text: self._tell(text, "", "danger"))
        self._service.state_changed.connect(self._on_timeout)
        self._timer.timeout.connect(self._on_timeout)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.search.setFocus)
        remove = QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.list)
        remove.setContext(Qt.ShortcutContext.WidgetShortcut)
        remove.activated.connect(self._on_remove_pressed)

    def _selected(self) -> KnownModel | None:
        index = self.list.currentIndex()
        model: KnownModel | None = index.data(MODEL_ROLE) if index.isValid() else None
        return model

    def _tell(self, title: str, text: str = "", kind: str = "info") -> None:
        self.banner.tell(title, text, kind=kind)

    def _on_current_changed(self, current: QModelIndex) -> None:
        model = self._selected()
        self.details.show_model(model.id if model else "")
        self.beside.setCurrentIndex(0 if model else 1)

    def _on_rows_changed(self) -> None:
        self.stack.setCurrentIndex(1 if self._library.all() else 0)
        self.add_button.setVisible(bool(self._library.all()))
        self.nothing.setVisible(not self._sorted.rowCount())
        if not self.list.currentIndex().isValid() and self._sorted.rowCount():
            self.list.setCurrentIndex(self._sorted.index(0, 0))
        self._on_current_changed(self.list.currentIndex())

    def _on_added(self, report: object) -> None:
        if models := self.add_bar.newest(report):
            self.search.clear()
            self._sorted.search("")
            self.select(models[-1].id)

    def _on_removed(self, text: str, undo: Callable[[], None]) -> None:
        Toast.show_over(self, text, tr("Undo"), undo)

    def _on_remove_pressed(self) -> None:
        if model := self._selected():
            self.model_actions.remove(model)

    def _on_demo_asked(self) -> None:
        try:
            self.add_paths([demo_model()])
        except EngineError as error:
            self._tell(tr("The demo model cannot be added"), str(error), "danger")

    def _on_timeout(self) -> None:
        if self.isVisible():
            self._background.run(lambda _: machine_memory(), self._on_memory)

    def _on_memory(self, memory: MachineMemory) -> None:
        self.details.set_memory(memory, self.model_actions.given_back)
