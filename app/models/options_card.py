"""OptionsCard: how one model is opened; what is not chosen here is as the settings say."""

from collections.abc import Callable
from typing import Any

import msgspec
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSlider,
    QSpinBox,
    QWidget,
)

from app.language import tr
from app.models.choices import ModelChoices
from app.models.known_model import KnownModel
from app.settings.link_speeds import offered
from app.theme.theme import SPACE_M, SPACE_S, Theme
from app.widgets.card import Card
from app.widgets.font_sizes import follow_font
from app.widgets.icon_button import IconButton
from app.widgets.labels import label
from engine import sizes
from engine.cache_size import CacheSize
from engine.link_speed import LinkSpeed
from engine.options import MAX_REQUESTS, EngineOptions, Store, within_training

_SLIDER_STEPS = 200


class OptionsCard(Card):
    """Fields with what will be used; a small button puts one back to what the settings say.

    Signals:
        chosen: A person has changed something. arg: ModelChoices.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(tr("How it is opened"), parent)
        self._theme = theme
        self._model = ""  # the id of the one that is shown
        self._choices = ModelChoices()
        self._total_bytes = 1
        self._resets: dict[str, IconButton] = {}
        self.store = QComboBox()
        for store, text in _stores():
            self.store.addItem(text, store)
        short = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        self.store.setSizeAdjustPolicy(short)  # a long name must not widen a narrow page
        self.store.setMinimumContentsLength(8)
        self.cache = QSlider(Qt.Orientation.Horizontal)
        self.cache.setRange(1, _SLIDER_STEPS)
        self.cache.setPageStep(_SLIDER_STEPS // 20)
        self.cache_text = label()
        follow_font(
            self.cache_text,
            lambda: self.cache_text.setMinimumWidth(
                self.cache_text.fontMetrics().horizontalAdvance("888.8 GB · 100 %  ")
            ),
        )
        self.context = _spin(256, 1 << 20, tr(" tokens"))
        self.context.setSingleStep(1024)
        self.max_requests = _spin(1, MAX_REQUESTS)
        self.n_threads = _spin(0, 512)
        self.n_threads.setSpecialValueText(tr("All cores"))
        self.link = QComboBox()
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(SPACE_M)
        self._grid.setVerticalSpacing(SPACE_S)
        self._grid.setColumnStretch(1, 1)
        self.cache_text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        cache = QHBoxLayout()
        cache.setSpacing(SPACE_M)
        cache.addWidget(self.cache, 1)
        cache.addWidget(self.cache_text)
        self._add_row("store", tr("Read experts from"), self.store)
        self._add_row("cache", tr("Expert cache"), self.cache, cache)
        self._add_row("context", tr("Context"), self.context)
        self._add_row("max_requests", tr("Replies at once"), self.max_requests)
        self._add_row("n_threads", tr("Threads"), self.n_threads)
        self._add_row("link", tr("Link speed"), self.link)
        self.body.addLayout(self._grid)
        self.note = label(role="small", wrap=True)
        self.body.addWidget(self.note)
        self.store.activated.connect(lambda: self._choose(store=self.store.currentData()))
        self.link.activated.connect(
            lambda: self._choose(link=LinkSpeed.parse(self.link.currentData()))
        )
        self.cache.valueChanged.connect(self._on_cache_moved)
        for name, box in (
            ("context", self.context),
            ("max_requests", self.max_requests),
            ("n_threads", self.n_threads),
        ):
            box.valueChanged.connect(self._setter(name))

    def show_options(self, model: KnownModel, options: EngineOptions, *, is_open: bool) -> None:
        """Show what will be used; `is_open`: changes wait for the next load."""
        is_other, self._model = model.id != self._model, model.id
        self._choices = model.choices
        self._total_bytes = max(1, model.info.experts_total_bytes)
        fields = (self.store, self.cache, self.context, self.max_requests, self.n_threads)
        blockers = [QSignalBlocker(field) for field in fields]
        self.link.clear()
        for speed, text in offered(options.link):
            self.link.addItem(text, speed)
        self.link.setCurrentIndex(self.link.findData(str(options.link)))
        self.store.setCurrentIndex(self.store.findData(options.store))
        self.cache.setValue(round(options.cache.share_of(self._total_bytes) * _SLIDER_STEPS))
        self._show_cache(options.cache)
        self.context.setMaximum(within_training(1 << 20, model.info.context_length))
        self.context.setMinimum(min(256, self.context.maximum()))
        for box, value in (
            (self.context, options.context),
            (self.max_requests, options.max_requests),
            (self.n_threads, options.n_threads),
        ):
            if is_other or box.value() != value:  # else a number that is being typed would go
                box.setValue(value)
        for blocker in blockers:
            blocker.unblock()
        for name, button in self._resets.items():
            differs = getattr(model.choices, name) is not None
            button.setEnabled(differs)
            # It keeps its place, so that fields do not move.
            button.set_icon("undo", "accent" if differs else "muted")
        self.note.setText(
            tr("The model is open: changes here hold from its next load on.") if is_open else ""
        )
        self.note.setVisible(is_open)

    def _add_row(
        self, name: str, text: str, field: QWidget, layout: QHBoxLayout | None = None
    ) -> None:
        row = self._grid.rowCount()
        title = QLabel(text)
        title.setBuddy(field)
        field.setAccessibleName(text)
        reset = IconButton(self._theme, "undo", tr("As in the settings"), size=14)
        reset.clicked.connect(lambda: self._choose(**{name: None}))
        self._resets[name] = reset
        self._grid.addWidget(title, row, 0)
        if layout:
            self._grid.addLayout(layout, row, 1)
        else:
            self._grid.addWidget(field, row, 1)
        self._grid.addWidget(reset, row, 2)

    def _setter(self, name: str) -> Callable[[int], None]:
        return lambda value: self._choose(**{name: value})

    def _choose(self, **fields: Any) -> None:
        choices = msgspec.structs.replace(self._choices, **fields)
        if choices != self._choices:
            self._choices = choices
            self.chosen.emit(choices)

    def _on_cache_moved(self, value: int) -> None:
        size = CacheSize() if value >= _SLIDER_STEPS else CacheSize(fraction=value / _SLIDER_STEPS)
        self._show_cache(size)
        self._choose(cache=size)

    def _show_cache(self, size: CacheSize) -> None:
        n_bytes = size.bytes_of(self._total_bytes)
        share = size.share_of(self._total_bytes)
        self.cache_text.setText(f"{sizes.show(n_bytes)} · {share:.0%}")


def _stores() -> list[tuple[Store, str]]:
    return [
        ("pack", tr("Expert pack (fastest)")),
        ("gguf", tr("Model file in place (no extra disk space)")),
        ("memory", tr("Memory (only if all experts fit)")),
    ]


def _spin(low: int, high: int, suffix: str = "") -> QSpinBox:
    box = QSpinBox()
    box.setRange(low, high)
    box.setSuffix(suffix)
    box.setKeyboardTracking(False)  # a number that is being typed is not yet meant
    box.setGroupSeparatorShown(True)
    return box
