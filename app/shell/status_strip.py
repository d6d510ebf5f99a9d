"""StatusStrip: the lower edge of the window: what the engine is doing, in one line."""

import time
from collections import deque

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from app.engine_service import EngineService
from app.language import tr
from app.models.words import stage_name
from app.shell.status_figures import Figures, StatusFigures
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, SPACE_XS, Theme
from app.widgets.font_sizes import follow_font, scaled
from app.widgets.labels import ElidedLabel, label
from app.widgets.share_bar import ShareBar
from engine import sizes
from engine.engine_info import EngineStats
from engine.engine_state import EngineState

_LEAST_PHASE = 140  # pixels, for the phase before all figures
_REMEMBERED = 20  # texts of a figure, by which its width goes: about five seconds of them
_QUIET_MS = 2500  # without counters for so long, nothing runs


class StatusStrip(QFrame):
    """Phase and progress at the left, figures at the right."""

    def __init__(self, service: EngineService, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("status")
        self._service = service
        self._theme = theme
        self._figures = StatusFigures()
        self.dot = QLabel()
        self.phase = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.bar = ShareBar()
        self.speed = _Figure(tr("Tokens that all replies together get in a second"))
        self.hits = _Figure(tr("Share of the needed experts that were in the cache"))
        self.cache = _Figure(tr("Memory of the expert cache"))
        self.reading = _Figure(
            tr(
                "What is read from the disk in a second, pauses between reads included."
                " The monitor's “Link” is the speed while it reads."
            )
        )
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(_QUIET_MS)
        self._quiet.timeout.connect(self._on_quiet)
        self._lay_out()
        service.state_changed.connect(self._on_state_changed)
        service.stats_changed.connect(self._on_stats_changed)
        theme.changed.connect(self._on_theme_changed)
        self._on_state_changed(service.state)

    def _lay_out(self) -> None:
        follow_font(self.bar, lambda: self.bar.setFixedWidth(scaled(self.bar, 140)))
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_L, SPACE_XS, SPACE_L, SPACE_XS)
        row.setSpacing(SPACE_S)
        row.addWidget(self.dot)
        row.addWidget(self.phase, 1)
        row.addWidget(self.bar)
        self._pairs: list[QWidget] = []
        for name, figure in (
            (tr("Speed"), self.speed),
            (tr("Cache hits"), self.hits),
            (tr("Cache"), self.cache),
            (tr("Reading"), self.reading),
        ):
            pair = QWidget()
            inside = QHBoxLayout(pair)
            inside.setContentsMargins(SPACE_M, 0, 0, 0)
            inside.setSpacing(SPACE_S)
            inside.addWidget(label(name))
            inside.addWidget(figure)
            self._pairs.append(pair)
            row.addWidget(pair)

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Figures give way, the last one first."""
        return QSize(scaled(self, _LEAST_PHASE), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802, Qt's name
        """There may be room for more figures, or fewer."""
        super().resizeEvent(event)
        self._show_what_fits()

    def _show_what_fits(self) -> None:
        room = self.width() - 2 * SPACE_L - scaled(self, _LEAST_PHASE)
        for pair in self._pairs:
            words = pair.findChildren(QLabel)  # the pair itself knows only later that they changed
            room -= SPACE_M + SPACE_S + sum(SPACE_S + each.sizeHint().width() for each in words)
            pair.setVisible(self._service.state.phase == "ready" and room >= 0)

    def _on_state_changed(self, state: EngineState) -> None:
        loading = state.phase in ("starting", "loading")
        self.phase.setText(phase_text(state))
        self.bar.setVisible(loading)
        if loading:
            self.bar.show_share(state.done, state.total)
        self._show_what_fits()
        if state.phase == "ready" and state.info:
            self._figures.clear()
            self._forget_widths()
            self.hits.setText("–")
            self._show(Figures(cache_bytes=state.info.cache_bytes))
        self._on_theme_changed()

    def _on_stats_changed(self, stats: EngineStats) -> None:
        self._show(self._figures.add(time.monotonic(), self._service.n_tokens, stats))
        self._quiet.start()

    def _forget_widths(self) -> None:
        for figure in (self.speed, self.hits, self.cache, self.reading):
            figure.forget_widths()

    def _on_quiet(self) -> None:
        self._forget_widths()
        self.speed.setText(tr("idle"))
        self.reading.setText(self._reading_text(0.0))
        self._show_what_fits()

    def _show(self, now: Figures) -> None:
        speed = f"{now.tokens_per_s:.1f} tok/s" if now.tokens_per_s else tr("idle")
        if now.queued:
            speed += tr(" · {n} waiting", n=now.queued)
        self.speed.setText(speed)
        if now.hit_rate is not None:
            self.hits.setText(f"{now.hit_rate:.0%}")
        self.cache.setText(sizes.show(now.cache_bytes))
        self.reading.setText(self._reading_text(now.read_bytes_per_s))
        self._show_what_fits()

    def _reading_text(self, bytes_per_s: float) -> str:
        text = f"{sizes.show(round(bytes_per_s))}/s" if bytes_per_s else tr("idle")
        if self._service.link.emulated:
            text += tr(" of {speed} (emulated)", speed=self._service.link)
        return text

    def _on_theme_changed(self) -> None:
        palette = self._theme.palette
        phase = self._service.state.phase
        colour = {
            "ready": palette.success,
            "failed": palette.danger,
            "stopped": palette.muted,
        }.get(phase, palette.accent)
        self.dot.setFixedSize(8, 8)
        self.dot.setStyleSheet(f"background: {colour}; border-radius: 4px;")


def phase_text(state: EngineState) -> str:
    """What the engine is doing, in a few words."""
    title = state.model.title if state.model else ""
    if state.phase == "ready":
        return title
    if state.phase in ("starting", "loading"):
        share = f" {min(1.0, state.done / state.total):.0%}" if state.total else ""
        return f"{title}: {stage_name(state)}{share}"
    if state.phase == "failed":
        stopped = tr("The engine is not running")
        return stopped if state.crashed else tr("{title}: not loaded", title=title)
    return tr("No model loaded")


class _Figure(QLabel):
    """A figure that changes all the time, while what stands beside it stays where it is."""

    def __init__(self, tip: str) -> None:
        super().__init__()
        self._widths: deque[int] = deque(maxlen=_REMEMBERED)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("figure", True)
        self.setToolTip(tip)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        follow_font(self, self.forget_widths)

    def setText(self, text: str) -> None:  # noqa: N802, Qt's name
        """Show another figure."""
        super().setText(text)
        self._widths.append(super().sizeHint().width())

    def forget_widths(self) -> None:
        """Take no more room than the text needs now."""
        self._widths.clear()
        self.updateGeometry()

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Of the widest text that was shown lately."""
        hint = super().sizeHint()
        return QSize(max(hint.width(), *self._widths, 0), hint.height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """All of it is to be read."""
        return self.sizeHint()
