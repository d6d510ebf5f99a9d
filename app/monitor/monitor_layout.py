"""MonitorLayout: puts the monitor's parts into one column, or into a page with controls beside."""

from collections.abc import Sequence

from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from app.theme.theme import SPACE_S
from app.widgets.font_sizes import follow_font, scaled

NARROW = 620  # below: one column
MEDIUM = 930  # below: no room for controls beside the charts
ROOMY = 1500  # from here on: four charts in a row
_CONTROLS_WIDTH = 268
_CONTROLS_ROOMY = 340


class MonitorLayout(QWidget):
    """Arranges again only when the kind of arrangement changes."""

    def __init__(
        self,
        *,
        tiles: QWidget,
        timeline: QWidget,
        charts: Sequence[QWidget],
        heat_map: QWidget,
        controls: Sequence[QWidget],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._tiles, self._timeline, self._heat_map = tiles, timeline, heat_map
        self._charts, self._controls = list(charts), list(controls)
        self.kind = ""
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(SPACE_S)
        self._side = QWidget(self)
        self._page_width = 0  # not known yet
        follow_font(self, self._rearrange)
        self._side_width = _CONTROLS_WIDTH
        follow_font(self._side, self._fit_side)
        self._side_column = QVBoxLayout(self._side)
        self._side_column.setContentsMargins(0, 0, 0, 0)
        self._side_column.setSpacing(SPACE_S)

    def arrange(self, width: int) -> None:
        """Make the best of a page of this width, for letters of the size that they have."""
        self._page_width = width
        width = round(width * 1000 / scaled(self, 1000))  # as if the text had its ordinary size
        kinds = ((NARROW, "narrow"), (MEDIUM, "medium"), (ROOMY, "wide"), (1 << 24, "roomy"))
        kind = next(kind for below, kind in kinds if width < below)
        if kind == self.kind:
            return
        self.kind = kind
        self._clear()
        getattr(self, f"_{kind}")()

    def _rearrange(self) -> None:
        if self._page_width:
            self.arrange(self._page_width)

    def _clear(self) -> None:
        for part in (self._tiles, self._timeline, self._heat_map, self._side):
            self._grid.removeWidget(part)
        for part in (*self._charts, *self._controls):
            self._grid.removeWidget(part)
            self._side_column.removeWidget(part)
        while self._side_column.count():
            self._side_column.takeAt(0)
        for k in range(16):
            self._grid.setRowStretch(k, 0)
            self._grid.setColumnStretch(k, 0)
            self._grid.setRowMinimumHeight(k, 0)

    def _narrow(self) -> None:
        self._side.hide()
        cache, run, *others = self._controls
        charts = [*self._charts, self._heat_map]
        parts = [self._tiles, self._timeline, cache, run, *others, *charts]
        for row, part in enumerate(parts):
            self._grid.addWidget(part, row, 0)
        self._heights(timeline=270, charts=168, heat_map=220)
        self._grid.setColumnStretch(0, 1)
        self._grid.setRowStretch(len(parts), 1)

    def _medium(self) -> None:
        self._side.hide()
        cache, run, *others = self._controls
        self._grid.addWidget(self._tiles, 0, 0, 1, 2)
        self._grid.addWidget(self._timeline, 1, 0, 1, 2)
        for place, chart in enumerate(self._charts):
            self._grid.addWidget(chart, 2 + place // 2, place % 2)
        self._grid.addWidget(cache, 4, 0)
        self._grid.addWidget(run, 4, 1, 2, 1)
        for place, part in enumerate(others):
            self._grid.addWidget(part, 5 + place, 0)
        self._grid.addWidget(self._heat_map, 6, 0, 1, 2)
        self._heights(timeline=250, charts=160, heat_map=220)
        for column in (0, 1):
            self._grid.setColumnStretch(column, 1)

    def _wide(self) -> None:
        self._beside(_CONTROLS_WIDTH)
        self._grid.addWidget(self._tiles, 0, 0, 1, 3)
        self._grid.addWidget(self._timeline, 1, 0, 1, 3)
        *over_time, groups = self._charts
        for column, chart in enumerate(over_time):
            self._grid.addWidget(chart, 2, column)
            self._grid.setColumnStretch(column, 1)
        self._grid.addWidget(groups, 3, 0)
        self._grid.addWidget(self._heat_map, 3, 1, 1, 2)
        self._grid.addWidget(self._side, 0, 3, 4, 1)
        self._heights(timeline=196, charts=132, heat_map=140)
        for row, stretch in ((1, 5), (2, 3), (3, 4)):
            self._grid.setRowStretch(row, stretch)

    def _roomy(self) -> None:
        self._beside(_CONTROLS_ROOMY)
        self._grid.addWidget(self._tiles, 0, 0, 1, 4)
        self._grid.addWidget(self._timeline, 1, 0, 1, 4)
        for column, chart in enumerate(self._charts):
            self._grid.addWidget(chart, 2, column)
            self._grid.setColumnStretch(column, 1)
        self._grid.addWidget(self._heat_map, 3, 0, 1, 4)
        self._grid.addWidget(self._side, 0, 4, 4, 1)
        self._heights(timeline=260, charts=170, heat_map=220)
        for row, stretch in ((1, 5), (2, 3), (3, 4)):
            self._grid.setRowStretch(row, stretch)

    def _beside(self, width: int) -> None:
        for part in self._controls:
            self._side_column.addWidget(part)
        self._side_column.addStretch(1)
        self._side_width = width
        self._fit_side()
        self._side.show()

    def _fit_side(self) -> None:
        self._side.setFixedWidth(scaled(self._side, self._side_width))

    def _heights(self, *, timeline: int, charts: int, heat_map: int) -> None:
        self._timeline.setMinimumHeight(timeline)
        for part in self._charts:
            part.setMinimumHeight(charts)
        self._heat_map.setMinimumHeight(heat_map)
