"""Chart: one plot over steps in the app's colours."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.runs.series import Floats, thinned
from app.theme.theme import SPACE_XS, Theme
from app.widgets.legend import Legend
from engine.runlog.meta import Mark

FAINT = 70  # alpha of single steps behind their means
HEIGHT = 170
ROWS_OF_MARKS = 3  # their labels are below each other


class StepAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """Says numbers of steps where the plot has places; `first_step` is that of place 0."""

    first_step = 0

    def tickStrings(self, values: Any, scale: float, spacing: float) -> list[str]:  # noqa: N802
        """Whole numbers only."""
        shown = (value + self.first_step for value in values)
        return [f"{value:.0f}" if value == round(value) else "" for value in shown]


class Chart(QWidget):
    """Title and legend over a plot. Curves are means of neighbours when there are many steps.

    Signals:
        step_pointed: The pointer is over a step. arg: its place, -1 when it left.
        step_clicked: arg: its place.
    """

    step_pointed = Signal(int)
    step_clicked = Signal(int)

    def __init__(
        self,
        theme: Theme,
        title: str,
        *,
        unit: str = "",
        ceiling: float | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._unit = unit
        self._n = 0
        self._shown_to = 1
        self._curves: list[tuple[str, str, Floats]] = []  # name, colour, values per step
        self._stacked = False
        self._lines: list[Any] = []
        self.setAccessibleName(title)
        self.setMinimumHeight(HEIGHT)
        self.legend = Legend(theme, f"{title} ({unit.strip()})" if unit else title)
        self._axis = StepAxis("bottom")
        self.view = pg.PlotWidget(enableMenu=False, axisItems={"bottom": self._axis})
        self.plot = self.view.getPlotItem()
        self.plot.hideButtons()
        self.plot.setMouseEnabled(x=True, y=False)
        self.plot.setLimits(xMin=-0.5, yMin=0)
        if ceiling is not None:
            self.plot.setYRange(0, ceiling, padding=0)
        self._ceiling = ceiling
        self._top = 1.0
        self._pointer = pg.InfiniteLine(angle=90, movable=False)
        self._pointer.setVisible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_XS)
        column.addWidget(self.legend)
        column.addWidget(self.view, 1)
        self.view.viewport().installEventFilter(self)
        self.view.scene().sigMouseMoved.connect(self._on_moved)
        self.view.scene().sigMouseClicked.connect(self._on_clicked)
        theme.changed.connect(self._draw)
        self._draw()

    def show_curves(
        self,
        curves: Sequence[tuple[str, str, Floats]],
        *,
        stacked: bool = False,
        first_step: int = 0,
    ) -> None:
        """Show (name, colour, value of every step); stacked ones as areas on each other.

        `first_step` is the number of the step at place 0.

        The part that is in view stays.
        """
        self._curves, self._stacked = list(curves), stacked
        self._axis.first_step = first_step
        self._n = max((len(values) for _, _, values in curves), default=0)
        self._draw()

    def show_marks(self, marks: Sequence[tuple[float, Mark]], *, labelled: bool) -> None:
        """Show (place, change) as lines."""
        for line in self._lines:
            self.plot.removeItem(line)
        self._lines = []
        palette = self._theme.palette
        pen = pg.mkPen(palette.warning, width=1, style=Qt.PenStyle.DashLine)
        for n, (place, mark) in enumerate(marks):
            line = pg.InfiniteLine(
                pos=place,
                angle=90,
                pen=pen,
                label=mark.text if labelled else None,
                labelOpts={
                    "position": 0.99 - 0.11 * (n % ROWS_OF_MARKS),
                    "color": palette.warning,
                    "anchors": [(0, 0), (0, 0)],
                },
            )
            if labelled:
                line.label.setFont(self._small_font())
            self._lines.append(line)
            self.plot.addItem(line)
        if labelled and marks and self._ceiling is None:  # room above the curves
            rows = min(len(marks), ROWS_OF_MARKS)
            self.plot.setYRange(0, self._top / (1 - 0.11 * rows), padding=0)

    @property
    def shows_all(self) -> bool:
        """Whether nothing of what was there when `show_all` was called is out of view."""
        low, high = self.plot.viewRange()[0]
        return bool(low <= 0 and high >= self._shown_to)

    def show_all(self) -> None:
        """All steps, from the left to the right edge."""
        self._shown_to = max(1, self._n - 1)
        self.plot.setXRange(0, self._shown_to, padding=0.01)

    def point_at(self, place: int) -> None:
        """Show the pointer over a step, and its figures; -1: nowhere."""
        inside = 0 <= place < self._n
        self._pointer.setVisible(inside)
        if inside:
            self._pointer.setPos(place)
        self.legend.show_values(
            [
                f"{values[place]:.4g}{self._unit}" if inside and place < len(values) else ""
                for _, _, values in self._curves
            ]
        )

    def eventFilter(self, watched: Any, event: QEvent) -> bool:  # noqa: N802, Qt's name
        """Know when the pointer leaves."""
        if event.type() == QEvent.Type.Leave:
            self.step_pointed.emit(-1)
        return False

    def _draw(self) -> None:
        palette = self._theme.palette
        self.view.setBackground(palette.page)
        self.plot.clear()
        self._lines = []
        font = self._small_font()
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(palette.chart_grid)
            axis.setTextPen(palette.muted)
            axis.setTickFont(font)
            axis.setStyle(tickLength=-4, maxTickLevel=0)
        self.plot.getAxis("left").setWidth(round(self._theme.font_size * 4.2))
        self.plot.showGrid(x=False, y=True, alpha=0.25)
        if self._stacked:
            self._draw_stack()
        else:
            self._draw_curves()
        self._pointer.setPen(pg.mkPen(palette.muted, width=1))
        self.plot.addItem(self._pointer)
        self.legend.show_entries([(name, colour) for name, colour, _ in self._curves])

    def _small_font(self) -> QFont:
        font = self._theme.text_font()
        font.setPointSizeF(self._theme.font_size * 0.82)
        return font

    def _draw_curves(self) -> None:
        top = 0.0
        for _, colour, values in self._curves:
            x, means = thinned(values)
            if len(x) < len(values):
                faint = QColor(colour)
                faint.setAlpha(FAINT)
                raw = self.plot.plot(np.arange(len(values)), values, pen=pg.mkPen(faint, width=1))
                raw.setDownsampling(auto=True, method="peak")
                raw.setClipToView(True)
            self.plot.plot(x, means, pen=pg.mkPen(colour, width=1.8), antialias=True)
            if len(values):
                # A few slow steps must not press all others to the floor.
                top = max(top, float(np.percentile(values, 99)) * 1.15, float(means.max()) * 1.05)
        self._top = top or 1.0
        if self._ceiling is None:
            self.plot.setYRange(0, self._top, padding=0)

    def _draw_stack(self) -> None:
        below: Floats = np.zeros(0)
        floor = pg.PlotCurveItem()
        for _, colour, values in self._curves:
            x, means = thinned(values)
            if not len(below):
                below = np.zeros(len(means))
                floor = pg.PlotCurveItem(x, below)
            below = below + means
            edge = pg.PlotCurveItem(x, below, pen=pg.mkPen(None))
            self.plot.addItem(pg.FillBetweenItem(floor, edge, brush=QColor(colour)))
            floor = edge

    def _place(self, at: QPointF) -> int:
        if not self.plot.sceneBoundingRect().contains(at):
            return -1
        place = round(self.plot.getViewBox().mapSceneToView(at).x())
        return place if 0 <= place < self._n else -1

    def _on_moved(self, at: QPointF) -> None:
        self.step_pointed.emit(self._place(at))

    def _on_clicked(self, event: Any) -> None:
        if event.double():
            self.show_all()
        elif (place := self._place(event.scenePos())) >= 0:
            self.step_clicked.emit(place)
