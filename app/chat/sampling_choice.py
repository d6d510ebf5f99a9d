"""How a conversation says in which way its model chooses words.

`Conversation.preset` is the name of a preset, or values of its own as JSON, which begins with "{".
"""

import msgspec

from app.language import tr
from app.settings.sampling_preset import SamplingPreset
from app.settings.settings import Settings
from engine.errors import InvalidRequestError


def chosen(settings: Settings, preset: str) -> SamplingPreset:
    """The preset that is meant; what cannot be read, or is gone, is the one for new chats."""
    return _own(preset) or settings.preset(preset)


def own_values(preset: SamplingPreset) -> str:
    """Values of one conversation, for Conversation.preset."""
    return msgspec.json.encode(msgspec.structs.replace(preset, name=tr("Own values"))).decode()


def is_own(preset: str) -> bool:
    """Whether a conversation has values of its own."""
    return _own(preset) is not None


def _own(preset: str) -> SamplingPreset | None:
    if not preset.startswith("{"):
        return None
    try:
        return msgspec.json.decode(preset, type=SamplingPreset)
    except (msgspec.DecodeError, InvalidRequestError, ValueError):
        return None  # a name may begin so, too
