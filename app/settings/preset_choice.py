"""PresetChoice: the editor of the option that names a sampling preset."""

from app.settings.editors import ChoiceEditor
from app.settings.option import Option
from app.settings.settings import Settings


class PresetChoice(ChoiceEditor):
    """Its choices are the presets there are."""

    def __init__(self, option: Option, settings: Settings) -> None:
        super().__init__(option)
        self._settings = settings
        settings.changed.connect(self._on_changed)
        self._fill()

    def show_value(self, value: object) -> None:
        """See Editor; a preset that is gone is shown as the one that takes its place."""
        super().show_value(self._settings.preset(str(value)).name)

    def _fill(self) -> None:
        self.box.clear()
        for preset in self._settings.presets:
            self.box.addItem(preset.name, preset.name)
        self.show_value(self._settings.get(self.option.name))

    def _on_changed(self, name: str) -> None:
        if name == "presets":
            self._fill()
