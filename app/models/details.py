"""ModelDetails: everything about the model that is selected, and what can be done with it."""

from collections.abc import Callable

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.engine_service import EngineService
from app.language import tr
from app.models import words
from app.models.about_tabs import AboutTabs
from app.models.actions import ModelActions
from app.models.choices import ModelChoices, options_for
from app.models.fit import Fit, fit
from app.models.fit_card import FitCard
from app.models.inspections import Inspections
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from app.models.machine_memory import MachineMemory
from app.models.options_card import OptionsCard
from app.models.pack_card import PackCard
from app.models.packing import Packing
from app.models.two_columns import TwoColumns
from app.settings.settings import Settings
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, Theme
from app.widgets.icon_button import IconButton
from app.widgets.labels import ElidedLabel, label, set_kind, set_role
from app.widgets.progress_row import ProgressRow
from engine.cache_size import CacheSize

MOST_WIDTH = 1500  # wider lines do not read well


class ModelDetails(QScrollArea):
    """Shows one model of the library, as `show_model` says; the page tells what memory there is."""

    def __init__(
        self,
        service: EngineService,
        library: ModelLibrary,
        packing: Packing,
        inspections: Inspections,
        actions: ModelActions,
        settings: Settings,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._service = service
        self._library = library
        self._packing = packing
        self._inspections = inspections
        self._actions = actions
        self._settings = settings
        self._id = ""
        self._memory: MachineMemory | None = None
        self._given_back = 0
        self._fit: Fit | None = None
        self._pack_errors: dict[str, str] = {}
        self.title = ElidedLabel(role="title")
        self.subtitle = ElidedLabel(role="muted")
        self.place = ElidedLabel(role="small", mode=Qt.TextElideMode.ElideMiddle)
        self.load_button = QPushButton(tr("Load"))
        self.more_button = IconButton(theme, "more", tr("More"))
        self.problem = label(role="error", wrap=True)
        self.locate_button = QPushButton(tr("Locate…"))
        self.progress = ProgressRow(theme)
        self.fit_card = FitCard(theme)
        self.options_card = OptionsCard(theme)
        self.pack_card = PackCard(theme)
        self.about = AboutTabs(theme)
        self._lay_out()
        self._connect()

    def show_model(self, id: str) -> None:
        """Show this model; "" for none."""
        changed = id != self._id
        self._id = id
        if not id:
            return
        if changed:
            self.verticalScrollBar().setValue(0)
            self._inspections.want(self._library.get(id))
        self._refresh_about()
        self._refresh()

    def set_memory(self, memory: MachineMemory, given_back: int) -> None:
        """Take what memory there is, and what the model that is open would free."""
        self._memory, self._given_back = memory, given_back
        self._refresh()

    def act(self) -> None:
        """Load the model, or unload it when it is open."""
        model = self._model()
        if model is None or not self.load_button.isEnabled():
            return
        busy = self._service.state.phase in ("starting", "loading", "ready")
        if busy and words.is_open(model, self._service.state):
            self._actions.unload()
        else:
            self._actions.load(model, self._fit)

    def _lay_out(self) -> None:
        self.setWidgetResizable(True)
        set_kind(self.load_button, "primary")
        names = QVBoxLayout()
        names.setSpacing(2)
        for one in (self.title, self.subtitle, self.place):
            names.addWidget(one)
        head = QHBoxLayout()
        head.setSpacing(SPACE_S)
        head.addLayout(names, 1)
        head.addWidget(self.load_button, alignment=Qt.AlignmentFlag.AlignTop)
        head.addWidget(self.more_button, alignment=Qt.AlignmentFlag.AlignTop)
        problem = QHBoxLayout()
        problem.addWidget(self.problem, 1)
        problem.addWidget(self.locate_button)
        body = QWidget()
        body.setProperty("scrolled", "true")
        body.setMaximumWidth(MOST_WIDTH)
        column = QVBoxLayout(body)
        column.setContentsMargins(SPACE_L, SPACE_S, SPACE_L, SPACE_L)
        column.setSpacing(SPACE_M)
        column.addLayout(head)
        column.addLayout(problem)
        column.addWidget(self.progress)
        cards = [(self.fit_card, 0), (self.options_card, 1), (self.pack_card, 0)]
        column.addWidget(TwoColumns(cards))
        column.addWidget(self.about, 1)
        self.setWidget(body)

    def _connect(self) -> None:
        self.load_button.clicked.connect(self.act)
        self.more_button.clicked.connect(self._on_more)
        self.locate_button.clicked.connect(self._with_model(self._actions.locate))
        self.progress.cancelled.connect(self._actions.unload)
        self.fit_card.cache_recommended.connect(self._on_cache_recommended)
        self.options_card.chosen.connect(self._on_chosen)
        self.pack_card.build_asked.connect(self._on_build)
        self.pack_card.cancel_asked.connect(lambda: self._packing.cancel(self._id))
        self.pack_card.delete_asked.connect(self._with_model(self._actions.delete_pack))
        self._library.changed.connect(lambda model: self._refresh_if(model.id))
        self._packing.changed.connect(self._refresh_if)
        self._packing.failed.connect(self._on_pack_failed)
        self._inspections.arrived.connect(self._on_inspected)
        self._service.state_changed.connect(self._refresh)
        self._settings.changed.connect(self._refresh)

    def _model(self) -> KnownModel | None:
        return self._library.get(self._id) if self._id else None

    def _with_model(self, act: Callable[[KnownModel], None]) -> Callable[[], None]:
        def call() -> None:
            if model := self._model():
                act(model)

        return call

    def _refresh_if(self, id: str) -> None:
        if id == self._id:
            self._refresh()

    def _refresh(self) -> None:
        model = self._model()
        if model is None:
            return
        engine, state = self._service.state, self._library.state(model.id)
        is_open = words.is_open(model, engine)
        options = options_for(model.info, model.choices, self._settings)
        self.title.setText(model.title)
        self.subtitle.setText(f"{words.family_line(model)} · {words.shape_line(model)}")
        self.place.setText(str(model.path))
        self._refresh_problem(model)
        loading = is_open and engine.phase in ("starting", "loading")
        loaded = is_open and engine.phase == "ready"
        self.progress.setVisible(loading)
        if loading:
            self.progress.set_progress(words.stage_text(engine), engine.done, engine.total)
        self.load_button.setText(
            tr("Cancel") if loading else tr("Unload") if loaded else tr("Load")
        )
        set_kind(self.load_button, "" if loading or loaded else "primary")
        can_run = model.info.supported and not state.missing
        self.load_button.setEnabled(can_run or loading or loaded)
        self.fit_card.setVisible(model.info.supported)
        self.options_card.setVisible(model.info.supported)
        self.pack_card.setVisible(model.info.supported)
        if not model.info.supported:
            return
        if self._memory:
            kv = model.kv_bytes_per_token
            given_back = self._given_back
            self._fit = fit(model.info, options, kv, self._memory, given_back)
            self.fit_card.show_fit(self._fit, options.max_requests)
        self.options_card.show_options(model, options, is_open=loading or loaded)
        self.pack_card.show_pack(
            model,
            state,
            self._packing.progress(model.id),
            in_use=loaded and engine.info is not None and engine.info.store == "pack",
            error=self._pack_errors.get(model.id, ""),
        )

    def _refresh_problem(self, model: KnownModel) -> None:
        engine, state = self._service.state, self._library.state(model.id)
        text, role = "", "error"
        if state.missing:
            n = len(model.files)
            text = (
                tr("The file is not there: {path}", path=state.missing[0])
                if n == 1
                else tr(
                    "{missing} of its {n} files are not there, for example {path}",
                    missing=len(state.missing),
                    n=n,
                    path=state.missing[0],
                )
            )
        elif not model.info.supported:
            text = tr("Runahead cannot run this model: {why}", why=model.info.reason)
        elif words.is_open(model, engine) and engine.phase == "failed":
            text = " ".join(part for part in (engine.reason, engine.hint) if part)
        elif state.changed and (error := self._inspections.error(model)):
            text = tr("The file has changed and cannot be read any more: {why}", why=error)
        elif state.changed:
            text, role = tr("The file has changed and is being read again."), "muted"
        self.problem.setText(text)
        set_role(self.problem, role)
        self.problem.setVisible(bool(text))
        self.locate_button.setVisible(bool(state.missing))

    def _refresh_about(self) -> None:
        if model := self._model():
            self.about.show_model(
                model, self._inspections.get(model), self._inspections.error(model)
            )

    def _on_inspected(self, id: str) -> None:
        if id == self._id:
            self._refresh_about()

    def _on_more(self) -> None:
        model = self._model()
        if model is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Show in folder"), lambda: self._actions.show_folder(model))
        menu.addAction(
            tr("Copy path"), lambda: QGuiApplication.clipboard().setText(str(model.path))
        )
        menu.addSeparator()
        menu.addAction(tr("Remove from list"), lambda: self._actions.remove(model))
        if not self._library.state(model.id).missing:
            menu.addAction(tr("Delete model file…"), lambda: self._actions.trash(model))
        menu.popup(self.more_button.mapToGlobal(self.more_button.rect().bottomLeft()))

    def _on_chosen(self, choices: ModelChoices) -> None:
        self._library.choose(self._id, choices)

    def _on_cache_recommended(self, n_bytes: int) -> None:
        if model := self._model():
            whole = n_bytes >= model.info.experts_total_bytes
            size = CacheSize() if whole else CacheSize(n_bytes=n_bytes)
            self._library.choose(model.id, msgspec.structs.replace(model.choices, cache=size))

    def _on_build(self) -> None:
        if model := self._model():
            self._pack_errors.pop(model.id, None)
            self._packing.start(model)

    def _on_pack_failed(self, id: str, message: str, hint: str) -> None:
        end = "" if message.endswith((".", "!", "?")) else "."
        self._pack_errors[id] = f"{message}{end} {hint}".strip()
        self._refresh_if(id)
