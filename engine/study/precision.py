"""How precise a prefetcher is beside a cache (Bevy paper, section 2.4).

Candidates are the experts that a layer's cache does not hold. A prefetcher selects those whose
score reaches a threshold; the threshold is the highest by which it selects the asked share of all
missing experts that the layers need (its coverage). Precision is the share of the selected that is
needed.
"""

from dataclasses import dataclass

import numpy as np

from engine.study.lfu_replay import Bools, Snapshots
from engine.study.predictors import Scores

COVERAGE = 0.8
_DRAWS = 5


@dataclass(frozen=True)
class Precision:
    """At one cache size; shares from 0 to 1.

    Attributes:
        randomised: With caches that hold as many needed and as many unneeded experts as the actual
            one, chosen by chance: what the smaller share of needed candidates alone explains.
        held: Share of needed experts that the cache holds.
    """

    actual: float
    randomised: float
    held: float


def precision_under_cache(
    scores: Scores, snapshots: Snapshots, *, seed: int = 0, coverage: float = COVERAGE
) -> Precision:
    """All arrays [steps, layers, experts]; where scores are NaN, nothing is counted."""
    known = ~np.isnan(scores[:, :, 0])
    scores = scores[known]
    resident, needed = snapshots.resident[known], snapshots.needed[known]
    rng = np.random.default_rng(seed)
    draws = [
        precision_at(scores, needed, ~_randomised(resident, needed, rng), coverage)
        for _ in range(_DRAWS)
    ]
    return Precision(
        precision_at(scores, needed, ~resident, coverage),
        float(np.mean(draws)),
        float((resident & needed).sum() / max(1, needed.sum())),
    )


def precision_at(scores: Scores, needed: Bools, candidates: Bools, coverage: float) -> float:
    """Precision at a coverage, over all rows together; 1 when nothing needed is missing."""
    value, hit = scores[candidates], needed[candidates]
    if not hit.any():
        return 1.0
    order = np.argsort(-value, kind="stable")
    value, found = value[order], np.cumsum(hit[order])
    at = int(np.searchsorted(found, coverage * found[-1] - 1e-9))
    last = int(np.searchsorted(-value, -value[at], side="right"))  # equal scores go together
    return float(found[last - 1] / last)


def _randomised(resident: Bools, needed: Bools, rng: np.random.Generator) -> Bools:
    """As many needed and as many unneeded residents per row as there are, chosen by chance."""
    chance = rng.random(resident.shape)
    out = np.zeros_like(resident)
    for group in (needed, ~needed):
        n = (resident & group).sum(axis=1)
        rank = np.argsort(np.argsort(np.where(group, chance, 2.0), axis=1), axis=1)
        out |= group & (rank < n[:, None])
    return out
