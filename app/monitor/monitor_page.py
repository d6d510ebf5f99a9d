"""MonitorPage: what the engine does, live, and what changes it. A page, or a dock beside a chat."""

import time

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.engine_service import EngineService
from app.language import tr
from app.models.library import ModelLibrary
from app.monitor.cache_card import CacheCard
from app.monitor.charts import HitRateChart, OverlapChart, TokensChart
from app.monitor.compare_card import CompareCard
from app.monitor.group_sizes import GroupSizes
from app.monitor.heat_map import HeatMap
from app.monitor.history import History, Setup
from app.monitor.monitor_layout import MonitorLayout
from app.monitor.policies import policy_label
from app.monitor.run_card import RunCard
from app.monitor.segments import Segments
from app.monitor.stretches import MOST, stretches
from app.monitor.tiles import Tiles, tiles_of
from app.monitor.time_chart import Span
from app.monitor.timeline_card import TimelineCard
from app.monitor.title import Title
from app.settings.settings import Settings
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, Theme
from app.widgets.card import Card
from app.widgets.empty_state import EmptyState
from app.widgets.labels import ElidedLabel, label
from app.widgets.toast import Toast
from engine.engine_info import EngineStats
from engine.engine_state import EngineState
from engine.trace import Records

FRAME_MS = 92  # 11 frames a second or a little less
# Everything but the timeline is brought up to date in so many frames, a part of it in each.
_TURNS = 4
_HEADLINE_NS = 5_000_000_000
_IDLE_S = 2.0  # without records: nothing runs
_IDLE_FRAMES = 12
_COMPARED_FRAMES = 4 * _TURNS
_SHORT = 760  # pixels; a lower page with controls beside has room for two rows of comparison
SPANS = {"minute": 60, "ten": 600, "all": 0}  # seconds
_ALL_LEAST_S = 60


class MonitorPage(QWidget):
    """Watches the engine only while it can be seen."""

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
        self._theme = theme
        self.history = History()
        self._ready = False
        self._watching = False
        self._window: QWidget | None = None
        self._heard_s = 0.0  # when the last records came
        self._n_frames = 0
        self._stats: EngineStats | None = None

        self.timeline_card = TimelineCard(self.history, settings, theme)
        self.tiles = Tiles(theme)
        self.tokens = TokensChart(theme)
        self.overlap = OverlapChart(theme)
        self.hit_rate = HitRateChart(theme)
        self.group_sizes = GroupSizes(theme)
        self.heat_map = HeatMap(theme)
        self.heat_choice = Segments(
            [("resident", tr("In the cache")), ("uses", tr("Use"))], tr("What the map shows")
        )
        self.span_choice = Segments(
            [("minute", tr("1 min")), ("ten", tr("10 min")), ("all", tr("All"))],
            tr("How much time the plots show"),
        )
        self.cache_card = CacheCard(service, library, settings, theme)
        self.run_card = RunCard(service, library, settings, theme)
        self.compare_card = CompareCard(theme)
        self.subtitle = ElidedLabel("", "muted")
        self.empty = EmptyState(
            tr("Nothing runs yet"),
            tr(
                "Load a model and send a message. Here you will then see every step as it happens:"
                " what the device computes and for which chat, which experts are read meanwhile,"
                " and where one waits for the other. The size of the expert cache, the policy and"
                " the link can be changed while text streams."
            ),
            theme=theme,
            icon="monitor",
        )
        self._stack = QStackedWidget()
        self._lay_out()
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.setTimerType(Qt.TimerType.CoarseTimer)
        self._connect()
        self._on_state_changed(service.state)

    # Laying out.

    def _lay_out(self) -> None:
        heat = _chart_card(self.heat_map)
        head = QHBoxLayout()
        tip = tr("Every expert of every layer. Rows are layers, columns are experts.")
        head.addWidget(Title(self._theme, tr("Experts"), tip))
        head.addStretch()
        head.addWidget(self.heat_choice)
        heat.body.insertLayout(0, head)
        self.layout_of_parts = MonitorLayout(
            tiles=self.tiles,
            timeline=self.timeline_card,
            charts=[
                _chart_card(chart)
                for chart in (self.tokens, self.overlap, self.hit_rate, self.group_sizes)
            ],
            heat_map=heat,
            controls=[self.cache_card, self.run_card, self.compare_card],
        )
        top = QHBoxLayout()
        top.setSpacing(SPACE_M)
        top.addWidget(label(tr("Monitor"), "heading"))
        top.addWidget(self.subtitle, 1)
        top.addWidget(self.span_choice)
        content = QWidget()
        content.setProperty("scrolled", "true")
        column = QVBoxLayout(content)
        column.setContentsMargins(SPACE_L, SPACE_M, SPACE_L, SPACE_L)
        column.setSpacing(SPACE_S)
        column.addLayout(top)
        column.addWidget(self.layout_of_parts, 1)
        self.scroll_area = QScrollArea()
        self.scroll_area.setWidgetResizable(True)
        self.scroll_area.setFrameShape(QFrame.Shape.NoFrame)
        self.scroll_area.setWidget(content)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.scroll_area)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._stack)

    def _connect(self) -> None:
        service = self._service
        service.state_changed.connect(self._on_state_changed)
        service.records_arrived.connect(self._on_records_arrived)
        service.stats_changed.connect(self._on_stats_changed)
        self.cache_card.resized.connect(self._on_cache_resized)
        self.run_card.changed.connect(self._on_setting_changed)
        self.heat_choice.chosen.connect(self._on_heat_chosen)
        self.span_choice.chosen.connect(self._on_span_chosen)
        self.timeline_card.exported.connect(self._on_exported)
        self.timeline_card.export_failed.connect(self._on_export_failed)
        self._timer.timeout.connect(self._on_frame)

    # Watching only while it can be seen.

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Watch."""
        super().showEvent(event)
        if self._window is not self.window():
            if self._window is not None:
                self._window.removeEventFilter(self)
            self._window = self.window()
            self._window.installEventFilter(self)
        self._update_watching()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802, Qt's name
        """Stop watching."""
        super().hideEvent(event)
        self._update_watching()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802, Qt's name
        """The window may be minimised, which hides nothing."""
        if event.type() == QEvent.Type.WindowStateChange and watched is self._window:
            self._update_watching()
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802, Qt's name
        """A narrow page has one column."""
        super().resizeEvent(event)
        self.layout_of_parts.arrange(self.width())
        short = self.layout_of_parts.kind == "wide" and self.height() < _SHORT
        self.compare_card.show_at_most(2 if short else MOST)

    def _update_watching(self) -> None:
        on = self.isVisible() and not self.window().isMinimized()
        if on == self._watching:
            return
        self._watching = on
        if on:
            self.history.records_missed()
            self._timer.start()
        else:
            self._timer.stop()
        self._service.watch(self, on)

    # What comes from the engine.

    def _on_state_changed(self, state: EngineState) -> None:
        was_ready, self._ready = self._ready, state.phase == "ready"
        if state.info and self._ready and not was_ready:
            self.history = History(state.info.n_layer, state.info.n_expert)
            self.timeline_card.set_history(self.history)
            self._show_parts(everything=True)
        ready = self._ready
        self.cache_card.show_engine(state.info if ready else None)
        self.run_card.show_state(state)
        if ready and self.history.empty:
            self.history.first_setup = self._setup()
        self.subtitle.setText(state.model.title if state.model and ready else "")
        shown = ready or not self.history.empty
        self._stack.setCurrentWidget(self.scroll_area if shown else self.empty)

    def _on_records_arrived(self, records: Records) -> None:
        if self._watching:
            self.history.add(records)
            self._heard_s = time.monotonic()

    def _on_stats_changed(self, stats: EngineStats) -> None:
        self._stats = stats
        if self._watching:
            self.run_card.show_stats(stats, self.history.active_requests())

    def _on_cache_resized(self, text: str) -> None:
        self._on_setting_changed("cache", text)

    def _on_setting_changed(self, kind: str, text: str) -> None:
        if not self.history.empty:
            self.history.mark(kind, text, self._setup())
        else:
            self.history.first_setup = self._setup()

    def _setup(self) -> Setup:
        link = self._service.link
        return Setup(
            policy=policy_label(self._service.policy),
            cache=self.cache_card.size_text,
            link=tr("{speed} (emulated)", speed=link) if link.emulated else tr("full speed"),
        )

    # Frames.

    def _on_frame(self) -> None:
        self._n_frames += 1
        idle = time.monotonic() - self._heard_s > _IDLE_S
        if self.history.update_lanes():
            self.timeline_card.timeline.show_newest()
        self.timeline_card.show_idle(idle)
        if idle and self._n_frames % _IDLE_FRAMES:
            return
        self.run_card.refresh()
        if self.history.empty:
            return
        if idle:
            self.history.update_steps()
            self._show_parts(everything=True)
        else:
            if self._n_frames % _TURNS == 0:
                self.history.update_steps()
            self._show_parts(everything=False)

    def _show_parts(self, *, everything: bool) -> None:
        """Bring this turn's part up to date; what cannot be seen costs nothing."""
        turn = self._n_frames % _TURNS
        history = self.history
        span = self._span()
        for place, chart in enumerate((self.tokens, self.overlap, self.hit_rate)):
            if (everything or place == turn) and _seen(chart):
                chart.show_history(history, span)
        if everything or turn == 0:
            summary = None if self._is_idle() else history.summary(_HEADLINE_NS)
            self.tiles.show_tiles(tiles_of(summary, emulated=self._service.link.emulated))
            self.timeline_card.legend.show_requests(history.active_requests())
        if everything or self._n_frames % _COMPARED_FRAMES == 3:
            found = stretches(history.steps, history.markers, history.first_setup)
            self.compare_card.show_stretches(found)
        if (everything or turn == 2) and _seen(self.group_sizes):
            self.group_sizes.show_history(history)
        if (everything or turn == 3) and _seen(self.heat_map):
            self.heat_map.show_experts(history.experts, self._now_ns())

    def _is_idle(self) -> bool:
        return time.monotonic() - self._heard_s > _IDLE_S or not len(self.history.steps)

    def _now_ns(self) -> int:
        """The engine's clock, which goes on when nothing is heard from it."""
        silent = time.monotonic() - self._heard_s
        return self.history.latest_ns + (int(silent * 1e9) if silent > 1 else 0)

    def _span(self) -> Span:
        now = self._now_ns()
        seconds = SPANS[self.span_choice.choice]
        rows = self.history.steps.rows
        if not seconds:
            begin = int(rows["begin_ns"][0]) if len(rows) else now
            return Span(min(begin, now - _ALL_LEAST_S * 10**9), now)
        return Span(now - seconds * 10**9, now)

    # What a person does.

    def _on_heat_chosen(self, choice: str) -> None:
        self.heat_map.show_what("uses" if choice == "uses" else "resident")

    def _on_span_chosen(self, choice: str) -> None:
        self._show_parts(everything=True)

    def _on_exported(self, path: str) -> None:
        Toast.show_over(self, tr("Saved as {path}", path=path))

    def _on_export_failed(self, sentence: str) -> None:
        Toast.show_over(self, sentence)


def _seen(widget: QWidget) -> bool:
    return not widget.visibleRegion().isEmpty()


def _chart_card(chart: QWidget) -> Card:
    card = Card()
    card.body.setContentsMargins(SPACE_M, SPACE_S, SPACE_M, SPACE_S)
    card.body.addWidget(chart, 1)
    card.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
    return card
