"""RecommendedSampling: how a model's file says that its tokens should be chosen."""

from collections.abc import Iterable
from typing import Any

import msgspec

from engine.errors import InvalidRequestError
from engine.sampling import SamplingParams

# As llama.cpp names them (llama_model_meta_key, general.sampling.*); the others that it knows are
# of samplers that there are none of here.
_KEYS = {
    "general.sampling.temp": "temperature",
    "general.sampling.top_k": "top_k",
    "general.sampling.top_p": "top_p",
    "general.sampling.min_p": "min_p",
    "general.sampling.penalty_repeat": "repeat_penalty",
}


class RecommendedSampling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Values for SamplingParams; None where the file recommends nothing that can be used."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None

    @property
    def values(self) -> dict[str, Any]:
        """What is recommended, by the names of SamplingParams."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def applied(self, params: SamplingParams) -> SamplingParams:
        """`params`, with what is recommended in its place."""
        return msgspec.structs.replace(params, **self.values)


def recommended_sampling(metadata: Iterable[tuple[str, str]]) -> RecommendedSampling:
    """What a file's metadata, keys and texts, recommend. What no SamplingParams allows is left."""
    texts = dict(metadata)
    values = {name: _number(name, texts[key]) for key, name in _KEYS.items() if key in texts}
    return msgspec.convert(values, RecommendedSampling)


def _number(name: str, text: str) -> float | None:
    """What `text` says, where SamplingParams allow it."""
    try:
        number = float(text)
        if name == "top_k":
            number = max(0, int(number))  # below 0: all tokens, as for llama.cpp
        msgspec.convert({name: number}, SamplingParams)
    except (ValueError, OverflowError, InvalidRequestError):
        return None
    return number
