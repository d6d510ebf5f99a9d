"""ChatSettingsPanel: what the shown chat tells the model about itself, and how words are chosen."""

from functools import partial

import msgspec
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QInputDialog,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.chat.chat import Chat
from app.chat.sampling_choice import chosen, is_own, own_values
from app.language import tr
from app.settings import presets
from app.settings.editors import show_number
from app.settings.sampling_preset import SamplingPreset
from app.settings.settings import Settings
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, Theme
from app.widgets.font_sizes import follow_font, scaled
from app.widgets.icon_button import IconButton
from app.widgets.labels import label
from engine.engine_state import EngineState

PAUSE_MS = 400
_WIDTH, _MOST_WIDTH, _ANY_WIDTH = 300, 450, 16_777_215  # the last is Qt's
_DECIMALS = 2
# name, label, what it does, decimals (0: whole), low, high, step
_FIELDS = (
    ("temperature", "Temperature", "0 always takes the likeliest word", 2, 0, 5, 0.05),
    ("top_k", "Top k", "Only among the k likeliest; 0: all", 0, 0, 1000, 1),
    ("top_p", "Top p", "Only the likeliest that together have this share", 2, 0, 1, 0.01),
    ("min_p", "Min p", "Only those at least this share as likely as the likeliest", 2, 0, 1, 0.01),
    (
        "repeat_penalty",
        "Repeat penalty",
        "Above 1, words that were used count less",
        2,
        0.1,
        3,
        0.05,
    ),
    ("max_tokens", "Most tokens", "Longest reply", 0, 1, 1_000_000, 128),
    ("seed", "Seed", "Where the random numbers begin", 0, 0, 2**31 - 1, 1),
)


class ChatSettingsPanel(QFrame):
    """Changes reach the conversation when typing pauses.

    Signals:
        changed: The chat's settings are others now.
        closed: The panel shall be hidden.

    Attributes:
        is_alone: It has all of the page, in the place of the chats.
    """

    changed = Signal()
    closed = Signal()

    def __init__(self, settings: Settings, theme: Theme, parent: QWidget | None = None):
        super().__init__(parent)
        self.setProperty("kind", "panel")
        self.is_alone = False
        follow_font(self, self._fit_width)
        self._settings = settings
        self._chat: Chat | None = None
        self._shown = settings.preset("")
        self._is_filling = False
        self.prompt = QPlainTextEdit()
        self.prompt.setPlaceholderText(tr("You are a careful assistant…"))
        self.prompt.setAccessibleName(tr("System prompt"))
        self.prompt.setMinimumHeight(140)
        self.prompt.setTabChangesFocus(True)
        self.presets = QComboBox()
        self.presets.setAccessibleName(tr("Sampling preset"))
        self.presets.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.fixed_seed = QCheckBox(tr("The same seed for every reply"))
        self.fields: dict[str, QSpinBox | QDoubleSpinBox] = {}
        self.save_button = QPushButton(tr("Save as preset…"))
        self.close_button = IconButton(theme, "close", tr("Hide"), size=16)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._on_paused)
        self._lay_out()
        self.prompt.textChanged.connect(self._on_prompt_changed)
        self.presets.activated.connect(self._on_preset_chosen)
        self.fixed_seed.toggled.connect(self._on_fixed_seed_toggled)
        self.save_button.clicked.connect(self._on_save_asked)
        self.close_button.clicked.connect(self.closed)
        settings.changed.connect(self._on_setting_changed)

    def _lay_out(self) -> None:
        form = QGridLayout()  # a form would not stand names beside the middle of their boxes
        form.setSpacing(SPACE_S)
        form.setColumnStretch(1, 1)
        for row, (name, text, tip, decimals, low, high, step) in enumerate(_FIELDS):
            box = _spin_box(decimals, low, high, step)
            box.setToolTip(tr(tip))
            box.setAccessibleName(tr(text))
            box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            box.valueChanged.connect(partial(self._on_value_changed, name))
            self.fields[name] = box
            form.addWidget(label(tr(text)), row, 0)
            form.addWidget(box, row, 1)
        inner = QWidget()
        inner.setProperty("scrolled", "true")
        column = QVBoxLayout(inner)
        column.setContentsMargins(SPACE_L, 0, SPACE_L, SPACE_L)
        column.setSpacing(SPACE_S)
        column.addWidget(label(tr("System prompt"), "overline"))
        column.addWidget(self.prompt)
        column.addSpacing(SPACE_M)
        column.addWidget(label(tr("Sampling"), "overline"))
        column.addWidget(self.presets)
        column.addLayout(form)
        column.addWidget(self.fixed_seed)
        column.addWidget(self.save_button)
        column.addStretch(1)
        area = QScrollArea()
        area.setWidget(inner)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        head = QHBoxLayout()
        head.setContentsMargins(SPACE_L, SPACE_S, SPACE_S, SPACE_S)
        head.addWidget(label(tr("This chat"), "heading"), 1)
        head.addWidget(self.close_button)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(head)
        whole.addWidget(area, 1)

    @property
    def usual_width(self) -> int:
        """Beside the chats."""
        return min(_MOST_WIDTH, scaled(self, _WIDTH))

    def set_alone(self, on: bool) -> None:
        """Have all of the page, where there is no room for the chats beside."""
        self.is_alone = on
        self._fit_width()

    def _fit_width(self) -> None:
        self.setMinimumWidth(0 if self.is_alone else self.usual_width)
        self.setMaximumWidth(_ANY_WIDTH if self.is_alone else self.usual_width)

    def set_chat(self, chat: Chat | None) -> None:
        """Show another chat's settings."""
        self.save_now()
        if self._chat is not None:
            self._chat.service.state_changed.disconnect(self._on_state_changed)
            self._chat.asked.disconnect(self.save_now)
        self._chat = chat
        if chat is not None:
            chat.service.state_changed.connect(self._on_state_changed)
            chat.asked.connect(self.save_now)
        self.setEnabled(chat is not None)
        self._fill()

    def save_now(self) -> None:
        """Do not wait until typing pauses, or a field is left: a click on a button leaves none."""
        for box in self.fields.values():
            box.interpretText()
        self._save_prompt()

    def _values(self, chat: Chat) -> SamplingPreset:
        """What a reply would be sampled with now."""
        preset = chosen(self._settings, chat.conversation.preset)
        params = preset.params_for(chat.service.state.sampling)
        return msgspec.structs.replace(preset, params=params, by_model=False)

    def _save_prompt(self) -> None:
        if self._pause.isActive():
            self._on_paused()

    def _fill(self) -> None:
        self._save_prompt()
        if self._chat is None:
            return
        conversation = self._chat.conversation
        self._shown = preset = self._values(self._chat)
        self._is_filling = True
        if self.prompt.toPlainText() != conversation.system_prompt:
            self.prompt.setPlainText(conversation.system_prompt)
        self.presets.clear()
        self.presets.addItems([each.name for each in self._settings.presets])
        if is_own(conversation.preset):
            self.presets.addItem(preset.name)
            self.presets.setCurrentIndex(self.presets.count() - 1)
        else:
            self.presets.setCurrentText(preset.name)
        for name, box in self.fields.items():
            show_number(box, getattr(preset.params, name), _DECIMALS)
        self.fixed_seed.setChecked(preset.fixed_seed)
        self.fields["seed"].setEnabled(preset.fixed_seed)
        self._is_filling = False

    def _on_prompt_changed(self) -> None:
        if not self._is_filling:
            self._pause.start()

    def _on_paused(self) -> None:
        self._pause.stop()
        if self._chat is not None and self._chat.id in self._chat.conversations:
            self._chat.conversations.update(self._chat.id, system_prompt=self.prompt.toPlainText())
            self.changed.emit()

    def _on_preset_chosen(self, index: int) -> None:
        known = self._settings.presets
        if self._chat is not None and index < len(known):
            self._chat.conversations.update(self._chat.id, preset=known[index].name)
            self._fill()
            self.changed.emit()

    def _on_value_changed(self, name: str, value: float) -> None:
        params = msgspec.structs.replace(self._shown.params, **{name: value})
        self._use(msgspec.structs.replace(self._shown, params=params))

    def _on_fixed_seed_toggled(self, on: bool) -> None:
        self._use(msgspec.structs.replace(self._shown, fixed_seed=on))

    def _use(self, values: SamplingPreset) -> None:
        """Give the chat values of its own, unless it is they that are being shown."""
        if self._is_filling or self._chat is None:
            return
        if self._chat.id not in self._chat.conversations:
            return  # deleted while something was being typed
        self._chat.conversations.update(self._chat.id, preset=own_values(values))
        self._fill()
        self.changed.emit()

    def _on_save_asked(self) -> None:
        name, ok = QInputDialog.getText(self, tr("Save as preset"), tr("Name of the preset"))
        if ok and name.strip():
            self.save_as(name.strip())

    def save_as(self, name: str) -> None:
        """Keep the shown values as a preset, and use it here."""
        if self._chat is None:
            return
        saved = presets.save(self._settings, name, self._shown)
        self._chat.conversations.update(self._chat.id, preset=saved.name)
        self._fill()
        self.changed.emit()

    def _on_state_changed(self, state: EngineState) -> None:
        # Another model may recommend something else. What is being typed stays where none does.
        if self._chat and state.phase == "ready" and self._values(self._chat) != self._shown:
            self._fill()

    def _on_setting_changed(self, name: str) -> None:
        if name in ("presets", "preset"):
            self._fill()


def _spin_box(decimals: int, low: float, high: float, step: float) -> QSpinBox | QDoubleSpinBox:
    if decimals:
        box = QDoubleSpinBox()
        box.setDecimals(decimals)
        box.setRange(low, high)
        box.setSingleStep(step)
        box.setKeyboardTracking(False)
        return box
    whole = QSpinBox()
    whole.setRange(int(low), int(high))
    whole.setSingleStep(int(step))
    whole.setGroupSeparatorShown(True)
    whole.setKeyboardTracking(False)
    return whole
