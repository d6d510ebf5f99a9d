"""ModelChoices: how one model is opened, where that differs from the settings."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from engine.cache_size import CacheSize
from engine.demo_model import DEMO_CACHE, DEMO_LINK, DEMO_THREADS, is_demo_model
from engine.link_speed import LinkSpeed
from engine.model_info import ModelInfo
from engine.options import EngineOptions, Store, within_training

if TYPE_CHECKING:
    from app.settings.settings import Settings


class ModelChoices(msgspec.Struct, frozen=True, kw_only=True):
    """None: as the settings say."""

    store: Store | None = None
    cache: CacheSize | None = None
    context: int | None = None
    max_requests: int | None = None
    n_threads: int | None = None
    link: LinkSpeed | None = None


def first_choices(info: ModelInfo) -> ModelChoices:
    """What holds until a person chooses: as the settings say, but the demo model is paced."""
    if is_demo_model(Path(info.path)):
        return ModelChoices(cache=DEMO_CACHE, link=DEMO_LINK, n_threads=DEMO_THREADS)
    return ModelChoices()


def options_for(info: ModelInfo, choices: ModelChoices, settings: "Settings") -> EngineOptions:
    """How the model is opened. A context that is more than it was trained for becomes that."""
    options = settings.engine_options(trained_context=info.context_length)
    changed: dict[str, Any] = {
        name: value
        for name in ModelChoices.__struct_fields__
        if (value := getattr(choices, name)) is not None
    }
    if "context" in changed:
        changed["context"] = within_training(changed["context"], info.context_length)
    return msgspec.structs.replace(options, **changed)
