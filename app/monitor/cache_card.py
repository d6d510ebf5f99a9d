"""CacheCard: the size of the expert cache, changed while text streams."""

import math
from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.engine_service import EngineService
from app.language import tr
from app.models.library import ModelLibrary
from app.models.machine_memory import MachineMemory, machine_memory
from app.monitor.cache_slider import CacheMarks, CacheSlider
from app.monitor.title import Title
from app.settings.options import BY_NAME
from app.settings.settings import Settings
from app.theme.theme import SPACE_M, SPACE_S, SPACE_XS, Theme
from app.widgets.card import Card
from app.widgets.labels import label
from engine import sizes
from engine.cache_size import CacheSize
from engine.engine_info import CacheChange, EngineInfo, EngineStats

SEND_MS = 120  # at most so often while the slider is dragged
REMEMBER_MS = 800  # after the last movement
MEMORY_MS = 10_000  # how old what is known of free memory may be
_PARTS = 10_000  # so fine is a share of all experts


class CacheCard(Card):
    """Slider, what it means in GB and %, and what came of it.

    Signals:
        resized: The cache has another size. arg: the size in words.
    """

    resized = Signal(str)

    def __init__(
        self,
        service: EngineService,
        library: ModelLibrary,
        settings: Settings,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent=parent)
        self._service = service
        self._library, self._settings = library, settings
        self._info: EngineInfo | None = None
        self._wanted: int | None = None  # not sent yet
        self._size = 0
        self._used = 0
        self.body.setContentsMargins(SPACE_M, SPACE_S, SPACE_M, SPACE_S)
        self.body.setSpacing(SPACE_XS)
        self.size_label = Title(theme, "")
        self.slider = CacheSlider(theme)
        self.result = label(role="small", wrap=True)
        self.reason = label(role="warning", wrap=True)
        self.reason.hide()
        head = QHBoxLayout()
        head.addWidget(Title(theme, tr("Expert cache"), tr("Memory for experts.")))
        head.addStretch()
        head.addWidget(self.size_label)
        self.body.addLayout(head)
        self.body.addWidget(self.slider)
        self.body.addWidget(self.result)
        self.body.addWidget(self.reason)
        self._send = QTimer(self, singleShot=True, interval=SEND_MS)
        self._send.timeout.connect(self._on_send)
        self._remember = QTimer(self, singleShot=True, interval=REMEMBER_MS)
        self._remember.timeout.connect(self._on_remember)
        self._measure = QTimer(self, singleShot=True, interval=MEMORY_MS)
        self.slider.asked.connect(self._on_asked)
        service.cache_changed.connect(self._on_cache_changed)
        service.stats_changed.connect(self._on_stats_changed)
        self.show_engine(service.state.info)

    def show_engine(self, info: EngineInfo | None) -> None:
        """Another engine; None: there is none."""
        self._info = info
        self.slider.setEnabled(info is not None)
        self.reason.hide()
        self._used = 0
        if info is None:
            self._wanted = None
            self.size_label.setText("")
            self.result.setText(tr("No model is loaded."))
            return
        self._size = info.cache_bytes
        self._take_memory(machine_memory())
        self.slider.show_used(0)
        self.slider.show_size(self._size)
        self._show_size(self._size)
        self._show_result(info.cache_slots)

    @property
    def size_text(self) -> str:
        """The size that the cache has."""
        return sizes.show(self._size) if self._info else ""

    def _take_memory(self, memory: MachineMemory) -> None:
        info = self._info
        assert info
        total = info.experts_total_bytes
        # What the cache has taken already would be free without it.
        limit = min(total, memory.available + self._used)
        least = min(total, info.min_cache_bytes)
        recommended = max(least, min(total, limit - memory.spare))
        self.slider.set_marks(CacheMarks(total, least, recommended, max(least, limit)))
        self._measure.start()

    def _show_size(self, n_bytes: int) -> None:
        assert self._info
        share = n_bytes / max(1, self._info.experts_total_bytes)
        self.size_label.setText(f"{sizes.show(n_bytes)} · {share:.0%}")

    def _show_result(self, slots: int) -> None:
        assert self._info
        text = tr(
            "{slots} of {all} experts fit",
            slots=f"{min(slots, self._info.n_experts_total):,}",
            all=f"{self._info.n_experts_total:,}",
        )
        if self._used:  # else nothing is in it, or not known yet to be
            text = tr("{used} in use", used=sizes.show(self._used)) + f" · {text}"
        self.result.setText(text)

    def _on_asked(self, n_bytes: float) -> None:
        if self._info is None:
            return
        self._wanted = int(n_bytes)
        self._show_size(self._wanted)
        if not self._send.isActive():
            self._send.start()
        self._remember.start()

    def _on_send(self) -> None:
        if self._info is None or self._wanted is None:
            return
        share, self._wanted = self._share_of(self._wanted), None
        self._service.set_cache_size(_size_of(share))

    def _on_remember(self) -> None:
        """The next load begins with this size: of this model if it has its own, else of all."""
        if self._info is None or self.slider.isSliderDown():
            return
        share = self._share_of(self.slider.n_bytes)
        model = self._service.state.model
        if model and self._library.change_own(Path(model.path), "cache", _size_of(share)):
            return
        if share >= BY_NAME["cache_fraction"].low:
            self._settings.set("cache_fraction", share)

    def _share_of(self, n_bytes: int) -> float:
        """As settings keep it, so that both mean the same size; not below the minimum."""
        assert self._info
        total = max(1, self._info.experts_total_bytes)
        least = math.ceil(self._info.min_cache_bytes / total * _PARTS)
        return min(_PARTS, max(least, round(n_bytes / total * _PARTS))) / _PARTS

    def _on_cache_changed(self, change: CacheChange) -> None:
        if self._info is None:
            return
        self._size = change.cache_bytes
        self.reason.setText(
            tr("It is {size}: {reason}.", size=sizes.show(change.cache_bytes), reason=change.reason)
        )
        self.reason.setVisible(bool(change.reason))
        if self._wanted is None:
            self.slider.show_size(change.cache_bytes)
            if not self.slider.isSliderDown():
                self._show_size(change.cache_bytes)
        self._show_result(change.cache_slots)
        self.resized.emit(tr("cache {size}", size=sizes.show(change.cache_bytes)))

    def _on_stats_changed(self, stats: EngineStats) -> None:
        if self._info is None or not self.isVisible():
            return
        used = stats.cache_bytes * stats.cache_in_use // max(1, stats.cache_slots)
        if used != self._used:
            self._used = used
            self.slider.show_used(used)
            self._show_result(stats.cache_slots)
        if not self._measure.isActive():
            self._take_memory(machine_memory())


def _size_of(share: float) -> CacheSize:
    return CacheSize() if share >= 1 else CacheSize(fraction=share)
