"""Charts: four plots over the steps of one run, or of two."""

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app.language import tr
from app.runs import series
from app.runs.chart import Chart
from app.theme.theme import SPACE_L, SPACE_M, Theme
from engine.metrics import Steps
from engine.runlog.meta import Mark

Curves = list[tuple[str, str, series.Floats]]

WIDE = 860  # from here on two beside each other
BURST = 0.02  # of a run: changes that are closer are one


class Charts(QWidget):
    """Zoomed and pointed at together: the wheel zooms, dragging moves, a double click shows all.

    Signals:
        step_chosen: A person clicked on a step. arg: its place.
    """

    step_chosen = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._key = ""
        self._shown: list[tuple[str, Steps]] = []
        self._marks: Sequence[Mark] = ()
        self._show_all = True
        self._waiting: deque[tuple[Chart, Callable[[], Curves], bool]] = deque()
        self._turn = QTimer(self)
        self._turn.setInterval(0)
        self._turn.timeout.connect(self._on_turn)
        self.step_ms = Chart(theme, tr("Step"), unit=" ms")
        self.tokens = Chart(theme, tr("Tokens/s"))
        self.hits = Chart(theme, tr("Hit rate"), unit=" %", ceiling=102)
        self.overlap = Chart(theme, tr("Busy"), unit=" %", ceiling=102)
        self.all = (self.step_ms, self.tokens, self.overlap, self.hits)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACE_L)
        self._grid.setVerticalSpacing(SPACE_M)
        self._columns = 0
        self._arrange(1)
        for chart in self.all:
            if chart is not self.step_ms:
                chart.plot.setXLink(self.step_ms.plot)
            chart.step_pointed.connect(self._on_pointed)
            chart.step_clicked.connect(self.step_chosen)
        theme.changed.connect(self._refresh)

    def show_run(self, run: str, steps: Steps, marks: Sequence[Mark]) -> None:
        """The steps of one run; the part in view stays when they are more of the same one."""
        self._show(run, [("", steps)], marks)

    def show_two(self, runs: str, first: tuple[str, Steps], second: tuple[str, Steps]) -> None:
        """Those of two, laid over each other by their place; (name, steps)."""
        self._show(runs, [first, second], ())

    def _show(self, key: str, shown: list[tuple[str, Steps]], marks: Sequence[Mark]) -> None:
        same = key == self._key
        if same and all(a is b for (_, a), (_, b) in zip(shown, self._shown, strict=False)):
            return
        self._show_all = not same or self.step_ms.shows_all
        self._key, self._shown, self._marks = key, shown, marks
        self._refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802, Qt's name
        """One or two columns."""
        self._arrange(2 if self.width() >= WIDE else 1)
        super().resizeEvent(event)

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for chart in self.all:
            self._grid.removeWidget(chart)
        for n, chart in enumerate(self.all):
            self._grid.addWidget(chart, n // columns, n % columns)
        for column in range(2):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)

    def _refresh(self) -> None:
        """Draw one chart per turn of the event loop, so that nothing waits long for all four."""
        self._waiting = deque(self._plan())
        self._turn.start()

    def _on_turn(self) -> None:
        if not self._waiting:
            self._turn.stop()
            return
        chart, curves, stacked = self._waiting.popleft()
        one = self._shown[0][1] if len(self._shown) == 1 else None
        first = int(one["step"][0]) if one is not None and len(one) else 0
        chart.show_curves(curves(), stacked=stacked, first_step=first)
        marks = [] if one is None else _placed(one, self._marks)
        chart.show_marks(marks, labelled=chart is self.step_ms)
        if chart is self.step_ms and self._show_all:
            chart.show_all()

    def _plan(self) -> list[tuple[Chart, Callable[[], Curves], bool]]:
        """(chart, its curves, whether they are stacked), in the order of drawing."""
        if len(self._shown) == 1:
            return self._plan_one(self._shown[0][1])
        return self._plan_two() if self._shown else []

    def _plan_one(self, steps: Steps) -> list[tuple[Chart, Callable[[], Curves], bool]]:
        palette = self._theme.palette
        colours = palette.request_colours
        neither = _mixed(palette.page, palette.muted, 0.28)

        def times() -> Curves:
            return [
                (tr("whole"), palette.text, steps["step_ms"]),
                (tr("compute busy"), colours[0], steps["compute_busy_ms"]),
                (tr("link busy"), colours[1], steps["link_busy_ms"]),
            ]

        def tokens() -> Curves:
            return [(tr("all requests"), palette.accent, series.token_rates(steps))]

        def overlap() -> Curves:
            both, link, compute, rest = series.shares(steps)
            return [
                (tr("both"), colours[2], both),
                (tr("link only"), colours[1], link),
                (tr("compute only"), colours[0], compute),
                (tr("neither"), neither, rest),
            ]

        def hits() -> Curves:
            return [(tr("of needed experts"), colours[2], series.hit_rates(steps))]

        return [
            (self.step_ms, times, False),
            (self.tokens, tokens, False),
            (self.overlap, overlap, True),
            (self.hits, hits, False),
        ]

    def _plan_two(self) -> list[tuple[Chart, Callable[[], Curves], bool]]:
        colours = self._theme.palette.request_colours
        runs = [(name, colours[n], steps) for n, (name, steps) in enumerate(self._shown)]

        def curves(values: Callable[[Steps], series.Floats], text: str) -> Callable[[], Curves]:
            return lambda: [(tr(text, run=name), colour, values(s)) for name, colour, s in runs]

        return [
            (self.step_ms, curves(lambda s: s["step_ms"], "{run}"), False),
            (self.tokens, curves(series.token_rates, "{run}"), False),
            (self.overlap, curves(lambda s: series.shares(s)[0], "{run}: both"), False),
            (self.hits, curves(series.hit_rates, "{run}"), False),
        ]

    def _on_pointed(self, place: int) -> None:
        for chart in self.all:
            chart.point_at(place)


def _placed(steps: Steps, marks: Sequence[Mark]) -> list[tuple[float, Mark]]:
    """(place, change). While a slider is dragged many follow each other: only the last counts."""
    placed: list[tuple[float, Mark]] = []
    for mark in marks:
        place = _place(steps, mark)
        if placed and place - placed[-1][0] <= BURST * len(steps) and _same(placed[-1][1], mark):
            placed.pop()
        placed.append((place, mark))
    return placed


def _same(one: Mark, other: Mark) -> bool:
    """Whether they changed the same thing, as "cache 20%" and "cache 30%"."""
    return one.text.split()[:1] == other.text.split()[:1]


def _place(steps: Steps, mark: Mark) -> float:
    """Between the last step before the change and the first after it."""
    return float(np.searchsorted(steps["step"], mark.step, side="right")) - 0.5


def _mixed(one: str, other: str, share: float) -> str:
    a, b = QColor(one), QColor(other)
    pairs = zip((a.red(), a.green(), a.blue()), (b.red(), b.green(), b.blue()), strict=True)
    red, green, blue = (round(x + (y - x) * share) for x, y in pairs)
    return QColor(red, green, blue).name()
