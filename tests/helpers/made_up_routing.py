"""Routing that looks like a model's: some experts are used more, and tokens repeat themselves."""

import numpy as np
from numpy.typing import NDArray

from engine.simulation.routing_trace import RoutingTrace


def made_up_trace(
    n_step: int = 24,
    n_request: int = 4,
    n_layer: int = 4,
    n_expert: int = 16,
    n_used: int = 3,
    *,
    n_lookahead: int = 0,
    skew: float = 1.0,
    topic: float | None = None,
    seed: int = 0,
    record_bytes: int = 1_000_000,
) -> RoutingTrace:
    """`skew`: how much all requests like the same experts; `topic`: each its own (as `skew`).

    Scores are those that the experts were chosen by; lookahead's are noisy ones of them."""
    rng = np.random.default_rng(seed)
    liked = rng.normal(size=(n_layer, n_expert)) * skew
    own = rng.normal(size=(n_request, n_layer, n_expert)) * (skew if topic is None else topic)
    noise = rng.normal(size=(n_step, n_request, n_layer, n_expert))
    scores = _softmax(liked + own + noise)
    experts = np.argsort(-scores, axis=-1)[..., :n_used]
    lookahead = None
    if n_lookahead:
        lookahead = np.zeros((n_step, n_request, n_layer, n_lookahead, n_expert))
        for ahead in range(n_lookahead):
            guess = np.log(scores[:, :, ahead + 1 :])
            lookahead[:, :, : n_layer - 1 - ahead, ahead] = _softmax(
                guess + rng.normal(size=guess.shape)
            )
    return RoutingTrace(experts, scores, lookahead, "made up", record_bytes, n_expert)


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))
