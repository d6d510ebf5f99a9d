"""SamplingPreset: a named way of choosing words."""

import secrets

import msgspec

from engine.recommended_sampling import RecommendedSampling
from engine.sampling import SamplingParams

MAX_TOKENS = 2048


class SamplingPreset(msgspec.Struct, frozen=True):
    """A name for SamplingParams.

    Attributes:
        fixed_seed: The same chat gives the same reply each time; else each reply draws its own.
        by_model: What a model's file recommends takes the place of these values.
        formerly: Names that it had before, by which chats and tasks may know it.
    """

    name: str
    params: SamplingParams
    fixed_seed: bool = False
    by_model: bool = False
    formerly: tuple[str, ...] = ()

    def params_for(self, recommended: RecommendedSampling) -> SamplingParams:
        """The params of this preset for a model that recommends that."""
        return recommended.applied(self.params) if self.by_model else self.params

    def new_params(self, recommended: RecommendedSampling, context: int = 0) -> SamplingParams:
        """The params for one more reply, which may take half of `context` tokens (0: any)."""
        params = self.params_for(recommended)
        most = min(params.max_tokens, context // 2) if context else params.max_tokens
        seed = params.seed if self.fixed_seed else secrets.randbits(32)
        return msgspec.structs.replace(params, max_tokens=most, seed=seed)


BALANCED = SamplingPreset(
    "Balanced",
    SamplingParams(max_tokens=MAX_TOKENS, temperature=0.7, top_k=40, top_p=0.95, min_p=0.05),
)
# Balanced, where the file recommends nothing.
MODELS_OWN = SamplingPreset("Model's own", BALANCED.params, by_model=True)
PRECISE = SamplingPreset(
    "Precise",
    SamplingParams(max_tokens=MAX_TOKENS, temperature=0.2, top_k=20, top_p=0.9, min_p=0.1),
)
CREATIVE = SamplingPreset(
    "Creative",
    SamplingParams(max_tokens=MAX_TOKENS, temperature=1.1, top_k=0, top_p=0.98, min_p=0.03),
)
GREEDY = SamplingPreset(
    "Greedy",
    SamplingParams(max_tokens=MAX_TOKENS, temperature=0, top_k=0, top_p=1, min_p=0),
    fixed_seed=True,
)
BUILT_IN = (MODELS_OWN, BALANCED, PRECISE, CREATIVE, GREEDY)
