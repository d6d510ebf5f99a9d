"""Three ways to foretell experts, replayed from recorded routing: next router, map match, learned.

Each gives scores [steps, layers, experts]: the highest that any request's prediction gives the
expert; layers that it does not foretell are NaN. They are one of each kind of prefetcher that the
Bevy paper compares (section 2.4); what the engine ships of them is in native/policy.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]

FINEMOE_DISTANCE = 3
FINEMOE_MAPS = 4096
PROMOE_STRIDE = 2


def next_router(lookahead: NDArray[Any]) -> Scores:
    """Mixtral-Offloading: the next layer's router, asked one layer early.

    lookahead: [steps, requests, layers, 1 or more, experts], row 0 of layer l foretells l + 1.
    """
    scores = np.full(_shape(lookahead[:, :, :, 0]), np.nan, dtype=np.float32)
    scores[:, 1:] = lookahead[:, :, :-1, 0].astype(np.float32).max(axis=1)
    return scores


def map_match(
    probabilities: NDArray[Any],
    distance: int = FINEMOE_DISTANCE,
    n_maps: int = FINEMOE_MAPS,
) -> Scores:
    """FineMoE: what the most similar of past tokens had in the layer `distance` ahead.

    Similar is the cosine between the routers' probabilities in all layers so far. The store has the
    maps of the steps before, the newest `n_maps`. probabilities: [steps, requests, layers,
    experts].
    """
    maps = probabilities.astype(np.float32)
    n_step, n_request, n_layer, n_expert = maps.shape
    scores = np.full((n_step, n_layer, n_expert), np.nan, dtype=np.float32)
    norms = np.cumsum((maps**2).sum(axis=3), axis=2)  # of each prefix of layers, squared
    for step in range(1, n_step):
        first = max(0, step - max(1, n_maps // n_request))
        past = maps[first:step].reshape(-1, n_layer, n_expert)
        past_norms = norms[first:step].reshape(-1, n_layer)
        dots = np.cumsum(np.einsum("rle,mle->rml", maps[step], past, optimize=True), axis=2)
        cosines = dots / np.sqrt(norms[step][:, None] * past_norms[None])
        best = cosines.argmax(axis=1)  # [requests, layers], by the prefix that ends there
        for il in range(distance, n_layer):
            scores[step, il] = past[best[:, il - distance], il].max(axis=0)
    return scores


def learned(
    experts: NDArray[Any],
    probabilities: NDArray[Any],
    lookahead: NDArray[Any] | None,
    n_train: int,
    stride: int = PROMOE_STRIDE,
) -> Scores:
    """ProMoE: a predictor trained on the first `n_train` steps, one per layer.

    It begins with what the target's router says of the state at layer l - stride, where that is
    recorded; what this leaves is fitted by ridge regression to the same and to the probabilities
    at that layer. (ProMoE's own reads hidden states, which a trace does not hold.) The strength of
    regularisation is chosen by generalised cross-validation, per layer. Steps of the training are
    foretold too.
    """
    n_step, n_request, n_layer, n_expert = probabilities.shape
    scores = np.full((n_step, n_layer, n_expert), np.nan, dtype=np.float32)
    chosen = np.zeros((n_step, n_request, n_layer, n_expert), dtype=np.float32)
    np.put_along_axis(chosen, experts.astype(np.int64), 1, axis=3)
    ahead = lookahead is not None and lookahead.shape[3] >= stride
    for il in range(stride, n_layer):
        inputs = [_logs(probabilities[:, :, il - stride])]
        base = np.zeros((n_step, n_request, n_expert))
        if ahead and lookahead is not None:
            inputs.append(_logs(lookahead[:, :, il - stride, stride - 1]))
            base = _by_own_input(inputs[1], chosen[:, :, il], n_train)
        x = np.concatenate(inputs, axis=2)
        foretold = _ridge(
            x[:n_train].reshape(-1, x.shape[2]),
            (chosen[:n_train, :, il] - base[:n_train]).reshape(-1, n_expert),
            x.reshape(-1, x.shape[2]),
        )
        scores[:, il] = (base + foretold.reshape(base.shape)).max(axis=1)
    return scores


def _by_own_input(
    x: NDArray[np.float64], y: NDArray[np.float32], n_train: int
) -> NDArray[np.float64]:
    """Each expert's chance as one cubic of its own input, fitted to the first steps."""
    curve = np.polynomial.Polynomial.fit(x[:n_train].ravel(), y[:n_train].ravel(), 3)
    low, high = curve.domain
    return np.asarray(curve(np.clip(x, low, high)), dtype=np.float64)


def _logs(probabilities: NDArray[Any]) -> NDArray[np.float64]:
    return np.log(np.maximum(probabilities.astype(np.float64), 1e-6))


def _ridge(
    x: NDArray[np.float64], y: NDArray[np.float64], at: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Fit y by x, [samples, inputs], and evaluate at other inputs."""
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    base = y.mean(axis=0)
    u, s, vt = np.linalg.svd((x - mean) / spread, full_matrices=False)
    projected = u.T @ (y - base)
    best: tuple[float, NDArray[np.float64]] | None = None
    for strength in np.geomspace(1e-3, 1e3, 13) * float(np.mean(s**2)):
        keep = s**2 / (s**2 + strength)
        residual = float(((y - base - u @ (keep[:, None] * projected)) ** 2).sum())
        score = residual / max(1e-9, len(x) - float(keep.sum())) ** 2
        if best is None or score < best[0]:
            best = score, vt.T @ ((s / (s**2 + strength))[:, None] * projected)
    assert best is not None
    return np.asarray(base + ((at - mean) / spread) @ best[1], dtype=np.float32)


def _shape(routed: NDArray[Any]) -> tuple[int, int, int]:
    n_step, _, n_layer, n_expert = routed.shape
    return n_step, n_layer, n_expert
