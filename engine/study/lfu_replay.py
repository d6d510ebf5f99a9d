"""What an LFU cache holds when each layer begins, replayed from recorded routing.

As the engine does it in lockstep: one cache for all layers, use counts that persist, ties to the
least recently used; only what is needed is fetched.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.bench_models.routing import ReplayCache, Routing

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Snapshots:
    """All [steps, layers, experts], taken before the layer's own misses are fetched.

    Attributes:
        resident: The cache holds it. needed: Some request's router chose it.
    """

    resident: Bools
    needed: Bools


def lfu_snapshots(routing: Routing, n_expert: int, cached_share: float) -> Snapshots:
    """routing: [steps, requests, layers, experts per token], ids 0 .. n_expert - 1."""
    n_step, _, n_layer, _ = routing.shape
    ids = routing.astype(np.int64)
    cache = ReplayCache(n_layer * n_expert, int(cached_share * n_layer * n_expert), frequency=True)
    resident = np.zeros((n_step, n_layer, n_expert), dtype=bool)
    needed = np.zeros_like(resident)
    for step in range(n_step):
        for il in range(n_layer):
            first = il * n_expert
            resident[step, il] = cache.resident[first : first + n_expert]
            chosen, n_use = np.unique(ids[step, :, il].ravel(), return_counts=True)
            needed[step, il, chosen] = True
            if cached_share > 0:
                cache.use(chosen + first, n_use)
    return Snapshots(resident, needed)
