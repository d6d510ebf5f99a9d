"""OptionRow: one option on the page: its words, its editor, and the way back to its default."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QVBoxLayout

from app.language import tr
from app.settings.editors import Editor, ProseEditor, editor_of
from app.settings.option import Option, OptionError
from app.settings.settings import Settings
from app.theme.theme import SPACE_M, SPACE_S, Theme
from app.widgets.font_sizes import follow_size, scaled
from app.widgets.icon_button import IconButton
from app.widgets.labels import label
from engine import sizes

_WIDE = 500  # pixels that words and editor need beside each other
_EFFECTS = {
    "live": "",
    "reload": "Applies to the next load of a model.",
    "restart": "Applies when Runahead starts again.",
}


class OptionRow(QFrame):
    """Follows the settings, whoever changes them. A value that cannot be is told, not taken."""

    def __init__(
        self, option: Option, settings: Settings, theme: Theme, editor: Editor | None = None
    ) -> None:
        super().__init__()
        self.option = option
        self._settings = settings
        self.editor = editor or editor_of(option)
        self.name = label(tr(option.label))
        self.help = label(tr(option.help), "small", wrap=True)
        self.effect = label(tr(_EFFECTS[option.effect]), "small", wrap=True)
        self.effect.setVisible(bool(self.effect.text()))
        self.problem = label(role="error", wrap=True)
        self.problem.hide()
        self.reset_button = IconButton(theme, "undo", "", size=16)
        kept = self.reset_button.sizePolicy()
        kept.setRetainSizeWhenHidden(True)  # else the editor would jump
        self.reset_button.setSizePolicy(kept)
        self.reset_button.set_tip(tr("Back to the default: {default}", default=self._default()))
        self.reset_button.clicked.connect(lambda: settings.reset(option.name))
        self.editor.edited.connect(self._on_edited)
        settings.changed.connect(self._on_changed)
        self._lay_out()
        self._on_changed(option.name)

    def matches(self, words: list[str]) -> bool:
        """Whether all words, in lower case, occur in what the row says."""
        option = self.option
        choices = " ".join(tr(shown) for _, shown in option.choices)
        name = f"{option.name} {option.name.replace('_', ' ')}"
        text = f"{tr(option.label)} {tr(option.help)} {tr(option.section)} {name} {choices}".lower()
        return all(word in text for word in words)

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(2)
        shown: list[QLabel] = [self.name, self.help, self.effect, self.problem]
        for one in shown:
            words.addWidget(one)
        tools = QHBoxLayout()
        tools.setSpacing(SPACE_S)
        if isinstance(self.editor, ProseEditor):
            outer = QVBoxLayout(self)
            tools.addLayout(words, 1)
            tools.addWidget(self.reset_button, 0, Qt.AlignmentFlag.AlignTop)
            outer.addLayout(tools)
            outer.addWidget(self.editor)
            outer.setContentsMargins(0, SPACE_S, 0, SPACE_S)
            outer.setSpacing(SPACE_S)
            return
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, SPACE_S, 0, SPACE_S)
        self._row.setSpacing(SPACE_M)
        self._row.addLayout(words, 1)
        tools.addWidget(self.editor)
        # Unaligned, a small button would hold the whole row down to its own height.
        tools.addWidget(self.reset_button, alignment=Qt.AlignmentFlag.AlignVCenter)
        tools.addStretch()
        self._row.addLayout(tools)
        follow_size(self, self._fit)

    def _fit(self) -> None:
        """Where it is narrow, the editor goes below the words."""
        wide = self.width() >= scaled(self, _WIDE)
        direction = QBoxLayout.Direction
        self._row.setDirection(direction.LeftToRight if wide else direction.TopToBottom)
        self._row.setSpacing(SPACE_M if wide else SPACE_S)

    def _default(self) -> str:
        option = self.option
        if option.kind == "share":
            return f"{option.default:.0%}"
        if option.kind == "switch":
            return tr("on") if option.default else tr("off")
        if option.zero and option.default == 0:
            return tr(option.zero)
        named = dict(option.choices) if option.kind == "choice" else {}
        shown = tr(named[option.default]) if named else str(option.default)
        if option.kind == "bytes":
            shown = sizes.show(option.default)
        return (shown + option.unit) or tr("empty")

    def _on_edited(self, value: object) -> None:
        try:
            self._settings.set(self.option.name, value)
        except OptionError as error:
            self.problem.setText(f"{error}.")
            self.problem.show()
        else:
            self.problem.hide()

    def _on_changed(self, name: str) -> None:
        if name == self.option.name:
            self.problem.hide()
            self.editor.show_value(self._settings.get(name))
            self.reset_button.setVisible(not self._settings.is_default(name))
