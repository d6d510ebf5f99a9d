"""What a model's routing does to an expert cache: the figures that a bench model is calibrated to.

The paper (sections 2.4 and 5.3) reports, for 8 requests and 30 % of the experts cached, that LFU
holds 54 % of the experts a layer needs, and that 51 to 64 % of the prefetched experts go unused.
"""

import msgspec
import numpy as np
from numpy.typing import NDArray

Routing = NDArray[np.int32]

# For 8 requests and 30 % of the experts cached.
PAPER_LFU_HIT = 0.54
PAPER_PREFETCH_WASTE = (0.51, 0.64)


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Measured by replaying routing through one cache for all layers, in lockstep.

    A layer needs the union of its requests' experts. Shares are 0 to 1.
    """

    n_request: int
    n_step: int  # counted ones, after the warm-up
    cached_share: float
    distinct_per_layer: float  # experts a layer needs in a step
    lfu_hit: float  # share of them that are resident when the layer starts
    lru_hit: float
    lfu_use_hit: float  # as lfu_hit, but an expert counts once for each request that uses it
    repeat_share: float  # share of a request's experts that its token before used, too
    # None without predictions. Each token's predicted experts are fetched a layer ahead if absent.
    prefetch_waste: float | None = None  # share of these that the layer did not need
    prefetch_per_layer: float | None = None
    prediction_recall: float | None = None  # share of a token's experts that were predicted

    def text(self) -> str:
        """A line for people."""
        line = (
            f"{self.n_request} requests, {self.cached_share:.0%} of experts cached: "
            f"LFU hits {self.lfu_hit:.1%}, LRU {self.lru_hit:.1%}, "
            f"{self.distinct_per_layer:.1f} distinct experts per layer"
        )
        if self.prefetch_waste is not None:
            line += f", {self.prefetch_waste:.1%} of next-router prefetches unused"
        return line


def calibrate(
    routing: Routing,
    n_expert: int,
    predicted: Routing | None = None,
    *,
    cached_share: float = 0.3,
    warm_up: int | None = None,
) -> Calibration:
    """Replay recorded routing.

    routing: [steps, requests, layers, experts per token], ids 0 .. n_expert - 1; 3 steps or more.
    predicted: [steps, requests, layers, n], the ids foretold for each layer; layer 0 is ignored.
    warm_up: steps that fill the cache and are not counted; None: the first half.
    """
    n_step, n_request, n_layer, _ = routing.shape
    if warm_up is None:
        warm_up = n_step // 2
    n_slot = int(cached_share * n_layer * n_expert)
    lfu = _replay(routing, n_expert, n_slot, warm_up, frequency=True)
    lru = _replay(routing, n_expert, n_slot, warm_up, frequency=False)
    shared = {
        "n_request": n_request,
        "n_step": n_step - warm_up,
        "cached_share": cached_share,
        "distinct_per_layer": lfu.needed / ((n_step - warm_up) * n_layer),
        "lfu_hit": lfu.hits / lfu.needed,
        "lru_hit": lru.hits / lru.needed,
        "lfu_use_hit": lfu.use_hits / routing[warm_up:].size,
        "repeat_share": _share_found(routing[warm_up + 1 :], routing[warm_up:-1]),
    }
    if predicted is None or n_layer == 1:  # layer 0 is never foretold
        return Calibration(**shared)
    ahead = _replay(routing, n_expert, n_slot, warm_up, frequency=True, predicted=predicted)
    return Calibration(
        **shared,
        prefetch_waste=1 - ahead.prefetched_needed / max(1, ahead.prefetched),
        prefetch_per_layer=ahead.prefetched / ((n_step - warm_up) * (n_layer - 1)),
        prediction_recall=_share_found(routing[warm_up:, :, 1:], predicted[warm_up:, :, 1:]),
    )


class _Counts(msgspec.Struct):
    needed: int = 0
    hits: int = 0
    use_hits: int = 0
    prefetched: int = 0
    prefetched_needed: int = 0


def _replay(
    routing: Routing,
    n_expert: int,
    n_slot: int,
    warm_up: int,
    *,
    frequency: bool,
    predicted: Routing | None = None,
) -> _Counts:
    """As native/cache does it: use counts persist, ties go to the least recently used."""
    n_step, _, n_layer, _ = routing.shape
    ids = routing.astype(np.int64)
    foretold = None if predicted is None else predicted.astype(np.int64)
    cache = ReplayCache(n_layer * n_expert, n_slot, frequency)
    counts = _Counts()
    for step in range(n_step):
        fetched_ahead = np.empty(0, dtype=np.int64)
        for il in range(n_layer):
            uses = ids[step, :, il].ravel() + il * n_expert
            needed, n_use = np.unique(uses, return_counts=True)
            hit = cache.resident[needed]
            if foretold is not None:
                # Prefetched experts are hits for the cache, but not what the cache held by itself.
                hit &= ~np.isin(needed, fetched_ahead)
            if step >= warm_up:
                counts.needed += len(needed)
                counts.hits += int(hit.sum())
                counts.use_hits += int(n_use[hit].sum())
                counts.prefetched += len(fetched_ahead)
                counts.prefetched_needed += int(np.isin(fetched_ahead, needed).sum())
            cache.use(needed, n_use)
            if foretold is not None and il + 1 < n_layer:
                guesses = np.unique(foretold[step, :, il + 1]) + (il + 1) * n_expert
                fetched_ahead = guesses[~cache.resident[guesses]]
                cache.bring(fetched_ahead, pinned=needed)
    return counts


class ReplayCache:
    """Which of `n_id` experts are in `n_slot` slots, by use counts or by the last use alone."""

    def __init__(self, n_id: int, n_slot: int, frequency: bool) -> None:
        self.resident = np.zeros(n_id, dtype=bool)
        self._uses = np.zeros(n_id, dtype=np.int64)
        self._used_at = np.zeros(n_id, dtype=np.int64)
        self._n_slot = n_slot
        self._frequency = frequency
        self._now = 0

    def use(self, ids: NDArray[np.int64], n_use: NDArray[np.int64]) -> None:
        """Make all of them resident."""
        self._now += 1
        self._uses[ids] += n_use
        self._used_at[ids] = self._now
        self.bring(ids[~self.resident[ids]], pinned=ids)

    def bring(self, absent: NDArray[np.int64], pinned: NDArray[np.int64]) -> None:
        """Give slots to absent experts, at the cost of others that are not pinned."""
        n_evict = int(self.resident.sum()) + len(absent) - self._n_slot
        if n_evict > 0:
            self.resident[pinned] = False
            candidates = np.flatnonzero(self.resident)
            self.resident[pinned] = True
            worth = self._used_at[candidates]
            if self._frequency:
                worth = worth + (self._uses[candidates] << 32)
            self.resident[candidates[np.argsort(worth, kind="stable")[:n_evict]]] = False
        self.resident[absent] = True


def _share_found(routing: Routing, among: Routing) -> float:
    """Share of the ids that occur in the same place's list in `among`."""
    return float((routing[..., :, None] == among[..., None, :]).any(axis=-1).mean())
