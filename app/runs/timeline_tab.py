"""TimelineTab: the picture of chosen steps, and what chooses them."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QSpinBox, QVBoxLayout, QWidget

from app.language import tr
from app.runs.picture import Picture
from app.runs.picture_view import PictureView
from app.runs.run_index import RunIndex
from app.theme.theme import SPACE_S, Theme
from app.widgets.icon_button import IconButton
from app.widgets.labels import label
from engine.metrics import Steps

MOST_STEPS = 20


class TimelineTab(QWidget):
    """Two steps to begin with: those in the middle with the most requests."""

    def __init__(self, index: RunIndex, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._index = index
        self._name = ""
        self._numbers: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # of all steps, ascending
        self._n_drawn = 0
        self.first = QSpinBox()
        self.count = QSpinBox()
        self.count.setRange(1, MOST_STEPS)
        self.count.setValue(2)
        self.first.setKeyboardTracking(False)
        self.count.setKeyboardTracking(False)
        self.first.setAccessibleName(tr("First step"))
        self.count.setAccessibleName(tr("How many steps"))
        self.view = PictureView(theme)
        self.back_button = IconButton(theme, "chevron-left", tr("Earlier steps"))
        self.on_button = IconButton(theme, "chevron-right", tr("Later steps"))
        self.in_button = IconButton(theme, "zoom-in", tr("Zoom in (Ctrl + wheel)"))
        self.out_button = IconButton(theme, "zoom-out", tr("Zoom out"))
        self.fit_button = IconButton(theme, "fit", tr("Show all (double click)"))
        self._lay_out()
        self.first.valueChanged.connect(self._on_chosen)
        self.count.valueChanged.connect(self._on_chosen)
        self.back_button.clicked.connect(lambda: self._move(-1))
        self.on_button.clicked.connect(lambda: self._move(1))
        self.in_button.clicked.connect(lambda: self.view.zoom(0.5))
        self.out_button.clicked.connect(lambda: self.view.zoom(2.0))
        self.fit_button.clicked.connect(self.view.show_all)
        index.picture_arrived.connect(self._on_picture_arrived)

    @property
    def chosen(self) -> tuple[int, int]:
        """(number of the first step, how many)."""
        return self.first.value(), self.count.value()

    def show_run(self, name: str) -> None:
        """Another run; its steps come with `set_steps`."""
        self._name = name
        self._numbers = self._numbers[:0]
        self._n_drawn = 0
        self.view.show_picture(None)

    def set_steps(self, steps: Steps) -> None:
        """Take the run's steps; a running one gets more of them."""
        is_new = not len(self._numbers)
        self._numbers = steps["step"].astype(np.int64)
        if not len(steps):
            return
        blocker = QSignalBlocker(self.first)
        self.first.setRange(int(self._numbers[0]), int(self._numbers[-1]))
        if is_new:
            busiest = (steps["requests"] == steps["requests"].max()).nonzero()[0]
            self.choose(int(busiest[len(busiest) // 2]))
        blocker.unblock()
        if is_new or self._n_drawn < self.count.value():
            self._on_chosen()

    def choose(self, place: int) -> None:
        """Show the step at this place, and those after it."""
        if 0 <= place < len(self._numbers):
            self.first.setValue(int(self._numbers[place]))

    def _lay_out(self) -> None:
        tools = QHBoxLayout()
        tools.setContentsMargins(0, SPACE_S, 0, 0)
        tools.setSpacing(SPACE_S)
        tools.addWidget(self.back_button)
        tools.addWidget(label(tr("From step")))
        tools.addWidget(self.first)
        tools.addWidget(label(tr("show")))
        tools.addWidget(self.count)
        tools.addWidget(self.on_button)
        tools.addStretch()
        for button in (self.in_button, self.out_button, self.fit_button):
            tools.addWidget(button)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget()
        body.setProperty("scrolled", "true")
        inner = QVBoxLayout(body)
        inner.setContentsMargins(0, 0, SPACE_S, 0)
        inner.addWidget(self.view)
        inner.addStretch()
        scroll.setWidget(body)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_S)
        column.addLayout(tools)
        column.addWidget(scroll, 1)

    def _move(self, direction: int) -> None:
        self.first.setValue(self.first.value() + direction * self.count.value())

    def _on_chosen(self) -> None:
        if self._name and len(self._numbers):
            place = int(np.searchsorted(self._numbers, self.first.value()))
            self._index.want_picture(self._name, place, self.count.value())

    def _on_picture_arrived(self, name: str, picture: Picture) -> None:
        if name == self._name:
            self._n_drawn = len(picture.marks)
            self.view.show_picture(picture)
