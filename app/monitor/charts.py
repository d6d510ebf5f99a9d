"""The plots over time: tokens per second, hit rate, and what was busy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from app.language import tr
from app.monitor.history import History
from app.monitor.look import figures, mixed, with_alpha
from app.monitor.step_rows import N_COLOURS
from app.monitor.ticks import nice_top
from app.monitor.time_chart import Span, Swatch, TimeChart, polygon, polyline
from app.theme.theme import Theme

Floats = NDArray[np.float64]
_NOW_NS = 5_000_000_000  # what is shown as the value of now is of so long
_SETTLING_NS = 1_000_000_000  # so long a step that goes on is no idleness


class _HistoryChart(TimeChart):
    """A chart of sums per bin of a History's steps."""

    def __init__(self, theme: Theme, title: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, title, tip, parent)
        self._edges = np.zeros(0, dtype=np.int64)

    def show_history(self, history: History, span: Span) -> None:
        """Take over what this chart shows of that time, and show it."""
        self.span = span
        self.markers = history.markers
        edges = span.edges(self.width())
        # The last bins count only as far as their steps have ended.
        rows = history.steps.rows
        ended = int(rows["end_ns"][-1]) if len(rows) else 0
        known = max(ended, span.end - _SETTLING_NS)
        self._edges = edges[: max(2, int(np.searchsorted(edges, known, side="right")))]
        self._take(history)
        self.update()

    def edges(self) -> NDArray[np.int64]:
        """Borders of the bins."""
        return self._edges

    def _take(self, history: History) -> None:
        raise NotImplementedError

    def _centres(self) -> NDArray[np.int64]:
        return (self._edges[:-1] + self._edges[1:]) // 2


class TokensChart(_HistoryChart):
    """Tokens per second of each request, one upon the other, so that the top edge is all."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        tip = tr(
            "New tokens per second. Each request has its own colour; the upper edge is all of them."
        )
        super().__init__(theme, tr("Tokens per second"), tip, parent)
        self._rates: Floats = np.zeros((0, N_COLOURS))
        self._totals: Floats = np.zeros(0)
        self._now = 0.0
        self._top = 1.0

    def has_data(self) -> bool:
        """Whether anything was generated."""
        return bool(self._totals.any())

    def top(self) -> float:
        """A round number over the fastest."""
        return self._top

    def y_text(self, value: float) -> str:
        """Tokens per second."""
        return f"{value:g}"

    def value_text(self, at: int) -> str:
        """In all."""
        value = self._now if at < 0 else float(self._totals[at])
        return figures(value)

    def _take(self, history: History) -> None:
        lengths = np.diff(self._edges) / 1e9
        self._rates = history.steps.per_bin("tokens", self._edges) / lengths[:, None]
        self._totals = self._rates.sum(axis=1)
        self._now = history.summary(_NOW_NS).tokens_per_s
        wanted = nice_top(float(self._totals.max(initial=0)) * 1.05)
        # Shrinks late, so that the axis does not jump to and fro.
        if wanted > self._top or wanted < 0.45 * self._top:
            self._top = wanted

    def _paint_data(self, painter: QPainter, plot: QRectF) -> None:
        x = self.x_of(self._centres(), plot)
        painter.setPen(Qt.PenStyle.NoPen)
        low = np.zeros(len(x))
        for colour in np.flatnonzero(self._rates.any(axis=0)).tolist():
            high = low + self._rates[:, colour]
            painter.setBrush(mixed(self.look.raised, self.look.colours[colour], 0.82))
            painter.drawPolygon(polygon(x, self.y_of(low, plot), self.y_of(high, plot)))
            low = high
        # Only the edge that is seen is smooth: that is most of the cost of sixteen areas.
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(self.look.text, 1.2))
        painter.drawPolyline(polyline(x, self.y_of(low, plot)))


class HitRateChart(_HistoryChart):
    """How many of the needed experts were in the cache."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        tip = tr(
            "Of the experts that were needed: how many lay in the cache already. A larger cache and"
            " more alike requests raise it."
        )
        super().__init__(theme, tr("Cache hit rate"), tip, parent)
        self._shares: Floats = np.zeros(0)
        self._now = np.nan

    def has_data(self) -> bool:
        """Whether anything was needed."""
        return bool(np.isfinite(self._shares).any())

    def y_text(self, value: float) -> str:
        """Percent."""
        return f"{value:.0%}"

    def value_text(self, at: int) -> str:
        """Percent, or a dash."""
        value = self._now if at < 0 else float(self._shares[at])
        return f"{value:.1%}" if np.isfinite(value) else "–"

    def _take(self, history: History) -> None:
        hits, misses, joined = (
            history.steps.per_bin(name, self._edges) for name in ("hits", "misses", "joined")
        )
        needed = hits + misses + joined
        self._shares = np.divide(
            hits, needed, out=np.full(len(needed), np.nan), where=needed > 1e-6
        )
        now = history.summary(_NOW_NS)
        self._now = now.hit_rate if now.steps else np.nan

    def _paint_data(self, painter: QPainter, plot: QRectF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colour = self.look.both
        known = np.isfinite(self._shares)
        x, y = self.x_of(self._centres(), plot), self.y_of(self._shares, plot)
        for part in _runs(known):
            base = np.full(part.stop - part.start, plot.bottom())
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(with_alpha(colour, 0.16))
            painter.drawPolygon(polygon(x[part], base, y[part]))
            painter.setPen(QPen(colour, 1.8))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPolyline(polyline(x[part], y[part]))


class OverlapChart(_HistoryChart):
    """How much of the steps' time the link, the device, both or neither were busy."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        tip = tr(
            "What is busy during steps. While the link reads and the device computes at once, no"
            " time is lost; “link only” is the device waiting for experts."
        )
        super().__init__(theme, tr("Link and compute"), tip, parent)
        self._shares: Floats = np.zeros((4, 0))  # both, compute only, link only, neither
        self._now: Floats = np.full(4, np.nan)

    def has_data(self) -> bool:
        """Whether a step was in this time."""
        return bool(np.isfinite(self._shares).any())

    def y_text(self, value: float) -> str:
        """Percent of the steps' time."""
        return f"{value:.0%}"

    def value_text(self, at: int) -> str:
        """The share that overlaps."""
        if at >= 0:
            return ""
        share = float(self._now[0])
        return tr("{share} overlap", share=f"{share:.0%}") if np.isfinite(share) else "–"

    def legend(self, at: int) -> Sequence[Swatch]:
        """The four, with their shares."""
        shares = self._now if at < 0 else self._shares[:, at]
        names = (tr("both"), tr("compute"), tr("link"), tr("idle"))
        colours = (self.look.both, self.look.compute, self.look.link, self.look.neither)
        shown = [f"{share:.0%}" if np.isfinite(share) else "–" for share in shares]
        return [Swatch(c, f"{n} {s}", n) for c, n, s in zip(colours, names, shown, strict=True)]

    def _take(self, history: History) -> None:
        steps, edges = history.steps, self._edges
        step, compute, link, both, neither = (
            steps.per_bin(name, edges)
            for name in (
                *("step_ms", "compute_busy_ms", "link_busy_ms", "both_busy_ms", "neither_ms"),
            )
        )
        parts = np.array([both, compute - both, link - both, neither])
        self._shares = np.divide(
            parts, step, out=np.full(parts.shape, np.nan), where=(step > 1e-9)
        ).clip(0, 1)
        now = history.summary(_NOW_NS)
        self._now = np.full(4, np.nan)  # without a step nothing was idle either
        if now.step_ms:
            busy = (
                *(now.both_busy_ms, now.compute_busy_ms - now.both_busy_ms),
                *(now.link_busy_ms - now.both_busy_ms, now.neither_ms),
            )
            self._now = np.array(busy) / now.step_ms

    def _paint_data(self, painter: QPainter, plot: QRectF) -> None:
        x = self.x_of(self._centres(), plot)
        colours = (self.look.both, self.look.compute, self.look.link, self.look.neither)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        for part in _runs(np.isfinite(self._shares[0])):
            low = np.zeros(part.stop - part.start)
            for share, colour in zip(self._shares, colours, strict=True):
                high = low + share[part]
                painter.setBrush(mixed(self.look.raised, colour, 0.85))
                painter.drawPolygon(polygon(x[part], self.y_of(low, plot), self.y_of(high, plot)))
                low = high


def _runs(known: NDArray[np.bool_]) -> list[slice]:
    """Where neighbours are known, at least two of them."""
    borders = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
    return [slice(a, b) for a, b in borders.reshape(-1, 2).tolist() if b - a > 1]
