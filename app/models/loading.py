"""Loading: opens and closes models, with the questions that come before it."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.engine_service import EngineService
from app.language import tr
from app.models import words
from app.models.choices import options_for
from app.models.fit import Fit
from app.models.known_model import KnownModel
from app.settings.settings import Settings
from app.short import short
from app.widgets.ask import ask
from engine.engine_info import EngineStats


class Loading(QObject):
    """Asks over `window` where a model will not fit or replies would be cut off.

    Signals:
        declined: After such a question, a person would not have the model loaded.
    """

    declined = Signal()

    def __init__(self, service: EngineService, settings: Settings, window: QWidget) -> None:
        super().__init__(window)
        self._service = service
        self._settings = settings
        self._window = window
        self._stats: EngineStats | None = None
        service.state_changed.connect(self._on_state_changed)
        service.stats_changed.connect(self._on_stats_changed)

    @property
    def given_back(self) -> int:
        """Bytes that closing the open model frees; slots take memory when they are first filled."""
        info, stats = self._service.state.info, self._stats
        if info is None:
            return 0
        filled = stats.cache_bytes * stats.cache_in_use // max(1, stats.cache_slots) if stats else 0
        return info.resident_bytes + filled

    def load(self, model: KnownModel, fit: Fit | None) -> None:
        """Load it; asks first when it will not fit or when replies would be cut off."""
        reasons = []
        if fit and fit.verdict == "over":
            reasons.append(words.explanation(fit, 1))
        if n := len(self._service.replies):
            reasons.append(self._cut_off(n))
        if not reasons:
            self._load(model)
            return
        over = bool(fit and fit.verdict == "over")
        ask(
            self._window,
            tr("Load {title}?", title=short(model.title)),
            "\n\n".join(reasons),
            tr("Load anyway") if over else tr("Load"),
            lambda _: self._load(model),
            danger=over,
            on_no=self.declined.emit,
        )

    def unload(self) -> None:
        """Close what is open, or stop loading; asks first when replies would be cut off."""
        if n := len(self._service.replies):
            ask(
                self._window,
                tr("Unload the model?"),
                self._cut_off(n),
                tr("Unload"),
                lambda _: self._service.unload(),
            )
        else:
            self._service.unload()

    def _load(self, model: KnownModel) -> None:
        options = options_for(model.info, model.choices, self._settings)
        self._service.load(model.path, options)

    def _cut_off(self, n: int) -> str:
        if n == 1:
            return tr("A reply is being written. It ends here; what there is of it is kept.")
        return tr(
            "{n} replies are being written. They end here; what there is of them is kept.", n=n
        )

    def _on_state_changed(self) -> None:
        self._stats = None  # another engine counts from zero

    def _on_stats_changed(self, stats: EngineStats) -> None:
        self._stats = stats
