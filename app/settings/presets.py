"""What people do with their sampling presets; the built-in ones stay as they are."""

import msgspec

from app.language import tr
from app.settings.option import OptionError
from app.settings.sampling_preset import BUILT_IN, SamplingPreset
from app.settings.settings import Settings


def is_built_in(name: str) -> bool:
    """Whether it can be neither changed nor deleted."""
    return name in {preset.name for preset in BUILT_IN}


def free_name(settings: Settings, wanted: str) -> str:
    """`wanted`, with a number where the name is taken."""
    taken = {preset.name for preset in settings.presets}
    name, n = wanted, 2
    while name in taken:
        name, n = f"{wanted} {n}", n + 1
    return name


def add(settings: Settings, like: SamplingPreset) -> SamplingPreset:
    """A new preset of the same values, whatever the model, under a name of its own."""
    made = msgspec.structs.replace(
        like, name=free_name(settings, like.name), by_model=False, formerly=()
    )
    settings.set("presets", [*settings.presets, made])
    return made


def replace(settings: Settings, name: str, new: SamplingPreset) -> None:
    """Change a preset of the user, also its name: who knows it by the old one finds it.

    Raises OptionError.
    """
    old = settings.preset(name)
    new = msgspec.structs.replace(new, name=new.name.strip(), formerly=old.formerly)
    if is_built_in(name):
        raise OptionError(tr("{name} is built in and stays as it is", name=name))
    if not new.name:
        raise OptionError(tr("A preset needs a name"))
    if new.name != name and new.name in {preset.name for preset in settings.presets}:
        raise OptionError(tr("There is another preset called {name}", name=new.name))
    changed = [new if preset.name == name else preset for preset in settings.presets]
    if new.name != name:
        changed = [_known_as(name, preset, is_it=preset is new) for preset in changed]
    settings.set("presets", changed)
    if settings.get("preset") == name:
        settings.set("preset", new.name)


def save(settings: Settings, name: str, like: SamplingPreset) -> SamplingPreset:
    """Keep values under a name; of a preset of the user that has it, all who know it get these."""
    if is_built_in(name):  # which stays as it is
        name = free_name(settings, name)
    formerly = next((each.formerly for each in settings.presets if each.name == name), ())
    saved = msgspec.structs.replace(like, name=name, formerly=formerly)
    others = [each for each in settings.presets if each.name != name]
    settings.set("presets", [*others, saved])
    return saved


def remove(settings: Settings, name: str) -> None:
    """Delete a preset of the user; new chats use the default when they would have used it."""
    settings.set("presets", [preset for preset in settings.presets if preset.name != name])
    if settings.get("preset") == name:
        settings.reset("preset")


def restore(settings: Settings, removed: SamplingPreset, place: int) -> SamplingPreset:
    """Undo `remove`, at a place among all; what was done to others since stays."""
    back = msgspec.structs.replace(removed, name=free_name(settings, removed.name))
    left = list(settings.presets)
    left.insert(place, back)
    settings.set("presets", left)
    return back


def _known_as(name: str, preset: SamplingPreset, *, is_it: bool) -> SamplingPreset:
    others = tuple(each for each in preset.formerly if each not in (name, preset.name))
    return msgspec.structs.replace(preset, formerly=(*others, name) if is_it else others)
