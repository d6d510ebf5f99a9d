"""PresetsEditor: the list of sampling presets, and the values of the one that is chosen."""

from typing import Any

import msgspec
from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QSpinBox,
    QVBoxLayout,
)

from app.language import tr
from app.settings import presets
from app.settings.editors import ignore_wheel, show_number
from app.settings.option import OptionError
from app.settings.sampling_preset import SamplingPreset
from app.settings.settings import Settings
from app.theme.theme import SPACE_L, SPACE_S, Theme
from app.widgets.card import Card
from app.widgets.font_sizes import follow_font, follow_size, scaled
from app.widgets.icon_button import IconButton
from app.widgets.labels import label
from app.widgets.toast import Toast
from engine.errors import EngineError

_DECIMALS = 2
_WIDE = 640  # pixels, from which on names have room beside what they name


class _Field(msgspec.Struct, frozen=True):
    """A number of SamplingParams; `step` 0: a whole one."""

    name: str
    text: str
    help: str
    low: float
    high: float
    step: float = 0


_FIELDS = (
    _Field(
        "temperature",
        "Temperature",
        "Higher is more varied; 0 always takes the likeliest word.",
        *(0, 5, 0.05),
    ),
    _Field("top_k", "Top-k", "Only the k likeliest tokens are considered; 0: all.", 0, 1000),
    _Field("top_p", "Top-p", "Only the likeliest that make up this share.", 0, 1, 0.01),
    _Field("min_p", "Min-p", "Only those at least this likely, as against the top.", 0, 1, 0.01),
    _Field("repeat_penalty", "Repeat penalty", "Over 1 avoids what was said.", *(0.1, 10, 0.05)),
    _Field("max_tokens", "Most tokens", "A reply ends there at the latest.", 1, 1 << 20),
)


class PresetsEditor(Card):
    """Built-in presets are shown but stay as they are; a copy can be changed."""

    def __init__(self, settings: Settings, theme: Theme) -> None:
        super().__init__(tr("Sampling presets"))
        self._settings = settings
        self._as_shown: dict[str, Any] = {}  # as `_written`, before a person touched it
        self.list = QListWidget()
        self.list.setProperty("kind", "side")
        self.list.setAccessibleName(tr("Sampling presets"))
        self.add_button = IconButton(theme, "add", tr("Add a copy of the chosen preset"))
        self.remove_button = IconButton(theme, "trash", tr("Delete the chosen preset"))
        self.name = QLineEdit()
        self.fields = {field.name: _spin(field) for field in _FIELDS}
        self.fixed = QCheckBox(tr("The same reply each time"))
        self.stop = QPlainTextEdit()
        self.stop.setPlaceholderText(tr("One per line; a reply ends before the first of them"))
        self.grammar = QPlainTextEdit()
        self.grammar.setPlaceholderText(tr("GBNF; empty for any text"))
        self.hint = label(role="small", wrap=True)
        self.problem = label(role="error", wrap=True)
        self._lay_out()
        self._connect()
        self._fill_list()
        self.choose(settings.get("preset"))
        self._on_chosen()

    @property
    def chosen(self) -> SamplingPreset:
        """The preset whose values are shown."""
        item = self.list.currentItem()
        return self._settings.preset(item.text() if item else "")

    def choose(self, name: str) -> None:
        """Show the values of that preset."""
        names = [preset.name for preset in self._settings.presets]
        self.list.setCurrentRow(names.index(name) if name in names else 0)

    def _lay_out(self) -> None:
        for box in (self.stop, self.grammar):
            box.setTabChangesFocus(True)
        follow_font(self, self._fit_sizes)
        buttons = QHBoxLayout()
        buttons.addWidget(self.add_button)
        buttons.addWidget(self.remove_button)
        buttons.addStretch()
        left = QVBoxLayout()
        left.addWidget(self.list, 1)
        left.addLayout(buttons)
        self._form = form = QFormLayout()
        form.setVerticalSpacing(SPACE_S)
        form.setHorizontalSpacing(SPACE_L)
        form.addRow(tr("Name"), self.name)
        for field in _FIELDS:
            row = QHBoxLayout()
            row.setSpacing(SPACE_L)
            row.addWidget(self.fields[field.name])
            row.addWidget(label(tr(field.help), "small", wrap=True), 1)
            form.addRow(tr(field.text), row)
        form.addRow("", self.fixed)
        form.addRow(tr("Stop at"), self.stop)
        form.addRow(tr("Grammar"), self.grammar)
        right = QVBoxLayout()
        right.addWidget(self.hint)
        right.addLayout(form)
        right.addWidget(self.problem)
        right.addStretch()
        row = QHBoxLayout()
        row.setSpacing(SPACE_L)
        row.addLayout(left)
        row.addLayout(right, 1)
        self.body.addLayout(row)
        follow_size(self, self._fit_names)

    def _fit_names(self) -> None:
        """Where there is little room, names stand above what they name."""
        wide = self.width() >= scaled(self, _WIDE)
        policy = QFormLayout.RowWrapPolicy
        self._form.setRowWrapPolicy(policy.DontWrapRows if wide else policy.WrapAllRows)
        for n in range(self._form.rowCount()):
            name = self._form.itemAt(n, QFormLayout.ItemRole.LabelRole)
            if name is not None and (words := name.widget()) is not None:
                words.setMinimumHeight(self.name.sizeHint().height() if wide else 0)

    def _fit_sizes(self) -> None:
        self.list.setFixedWidth(scaled(self.list, 150))
        for box in (self.stop, self.grammar):
            box.setFixedHeight(box.fontMetrics().lineSpacing() * 2 + 22)
        spins = self.fields.values()
        width = max(spin.minimumSizeHint().width() for spin in spins)
        for spin in spins:
            spin.setFixedWidth(width)

    def _connect(self) -> None:
        self.list.currentRowChanged.connect(self._on_chosen)
        self.add_button.clicked.connect(self._on_added)
        self.remove_button.clicked.connect(self._on_removed)
        self.name.editingFinished.connect(self._on_edited)
        self.fixed.clicked.connect(self._on_edited)
        for spin in self.fields.values():
            spin.valueChanged.connect(self._on_edited)
        for box in (self.stop, self.grammar):
            box.textChanged.connect(self._on_edited)
        self._settings.changed.connect(self._on_settings_changed)

    def _fill_list(self) -> None:
        with QSignalBlocker(self.list):
            row = self.list.currentRow()
            self.list.clear()
            self.list.addItems([preset.name for preset in self._settings.presets])
            self.list.setCurrentRow(min(max(row, 0), self.list.count() - 1))

    def _on_chosen(self) -> None:
        preset = self.chosen
        fixed = presets.is_built_in(preset.name)
        editors = (*self.fields.values(), self.name, self.fixed, self.stop, self.grammar)
        blockers = [QSignalBlocker(editor) for editor in editors]
        self.name.setText(preset.name)
        for name, spin in self.fields.items():
            show_number(spin, getattr(preset.params, name), _DECIMALS)
        self.fixed.setChecked(preset.fixed_seed)
        self.stop.setPlainText("\n".join(preset.params.stop))
        self.grammar.setPlainText(preset.params.grammar)
        self._as_shown = self._written()
        del blockers
        for editor in editors:
            editor.setEnabled(not fixed)
        self.remove_button.setEnabled(not fixed)
        self.hint.setVisible(fixed)
        self.hint.setText(
            tr("Built in: what the model's file recommends, else these values.")
            if preset.by_model
            else tr("Built in: add a copy to change it.")
        )
        self.problem.hide()

    def _on_added(self) -> None:
        for spin in self.fields.values():
            spin.interpretText()  # a click on the button has not left the field
        self._on_edited()
        self.choose(presets.add(self._settings, self.chosen).name)
        self.name.setFocus()
        self.name.selectAll()

    def _on_removed(self) -> None:
        settings, chosen, place = self._settings, self.chosen, self.list.currentRow()
        was_for_new = settings.get("preset") == chosen.name
        presets.remove(settings, chosen.name)

        def undo() -> None:
            back = presets.restore(settings, chosen, place)
            if was_for_new and settings.is_default("preset"):
                settings.set("preset", back.name)
            self.choose(back.name)

        Toast.show_over(self, tr("Deleted {name}.", name=chosen.name), tr("Undo"), undo)

    def _on_edited(self) -> None:
        old = self.chosen
        if presets.is_built_in(old.name):
            return
        written = self._written()
        # What nobody touched stays as it is, also where a field cannot show all of it.
        changed = {name: each for name, each in written.items() if each != self._as_shown[name]}
        if "stop" in changed:
            changed["stop"] = tuple(filter(None, changed["stop"].split("\n")))
        if "grammar" in changed:
            changed["grammar"] = changed["grammar"].strip()
        try:
            params = msgspec.structs.replace(old.params, **changed)
            new = SamplingPreset(self.name.text(), params, self.fixed.isChecked())
            presets.replace(self._settings, old.name, new)
        except (OptionError, EngineError) as error:
            self.problem.setText(str(error).rstrip(".") + ".")
            self.problem.show()
        else:
            self._as_shown = written
            self.problem.hide()

    def _written(self) -> dict[str, Any]:
        """What the fields of SamplingParams have in them, by name."""
        numbers = {name: spin.value() for name, spin in self.fields.items()}
        texts = {"stop": self.stop.toPlainText(), "grammar": self.grammar.toPlainText()}
        return {**numbers, **texts}

    def _on_settings_changed(self, name: str) -> None:
        if name != "presets":
            return
        names = [self.list.item(row).text() for row in range(self.list.count())]
        if names != [preset.name for preset in self._settings.presets]:
            self._fill_list()
            self._on_chosen()


def _spin(field: _Field) -> QSpinBox | QDoubleSpinBox:
    spin: QSpinBox | QDoubleSpinBox
    if field.step:
        spin = QDoubleSpinBox()
        spin.setDecimals(_DECIMALS)
        spin.setSingleStep(field.step)
        spin.setRange(field.low, field.high)
    else:
        spin = QSpinBox()
        spin.setRange(int(field.low), int(field.high))
        spin.setGroupSeparatorShown(True)
    spin.setKeyboardTracking(False)
    spin.setAccessibleName(tr(field.text))
    spin.setAccessibleDescription(tr(field.help))
    ignore_wheel(spin)
    return spin
