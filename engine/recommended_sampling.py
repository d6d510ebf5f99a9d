"""RecommendedSampling: how a model's file says that its tokens should be chosen."""

import math
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
        found = {name: getattr(self, name) for name in _KEYS.values()}
        return {name: value for name, value in found.items() if value is not None}

    def applied(self, params: SamplingParams) -> SamplingParams:
        """`params`, with what is recommended in its place."""
        return msgspec.structs.replace(params, **self.values)


def recommended_sampling(metadata: Iterable[tuple[str, str]]) -> RecommendedSampling:
    """What a file's metadata, keys and texts, recommend. What no SamplingParams allows is left."""
    texts = dict(metadata)
    values = {name: _number(name, texts[key]) for key, name in _KEYS.items() if key in texts}
    allowed = {name: value for name, value in values.items() if _is_allowed(name, value)}
    return msgspec.convert(allowed, RecommendedSampling)


def _number(name: str, text: str) -> float | int | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    if name == "top_k":
        return max(0, round(number))  # below 0: all tokens, as for llama.cpp
    return number


def _is_allowed(name: str, value: float | None) -> bool:
    try:
        return value is not None and bool(SamplingParams(**{name: value}))  # type: ignore[arg-type]
    except InvalidRequestError:
        return False
