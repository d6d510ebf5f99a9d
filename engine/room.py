"""Whether a cache has room for requests to run ahead of each other, known before all is opened.

A step begins by the scheduler only with slots for all that its requests choose in a layer, in every
class of equal experts (paper 4.4). With less they share expert waves, of which nothing can be
measured request by request.
"""

import math
from collections.abc import Iterable, Sequence

from engine import errors, sizes
from engine.cache_size import CacheSize
from engine.model_info import ModelInfo


def least_share(n_requests: int, n_expert_used: int, experts_per_class: Sequence[int]) -> float:
    """The share of all experts that must fit into the cache, which takes as much of each class."""
    wanted = n_requests * n_expert_used
    return max((min(1.0, wanted / n) for n in experts_per_class if n), default=0.0)


def share_for(model: ModelInfo, n_requests: int) -> float:
    """The least share for a model; 0 for one request, since the engine takes no smaller cache."""
    classes = model.experts_per_class or [model.n_moe_layer * model.n_expert]
    return least_share(n_requests, model.n_expert_used, classes) if n_requests > 1 else 0.0


def check_room(model: ModelInfo, cases: Iterable[tuple[int, CacheSize]]) -> None:
    """Raise InvalidRequestError when one of `cases`, requests and their cache, has no room."""
    total = model.experts_total_bytes
    short = [case for case in cases if case[1].share_of(total) < share_for(model, case[0])]
    if not short:
        return
    n, cache = max(short, key=lambda case: (case[0], -case[1].share_of(total)))
    percent = math.ceil(100 * share_for(model, n))
    most = max(k for k in range(1, n) if share_for(model, k) <= cache.share_of(total))
    raise errors.InvalidRequestError(
        f"A cache of {cache} is too small for {n} requests to run ahead of each other: that takes"
        f" {percent}% of the experts of {model.title}, {sizes.show(total * percent / 100)}",
        f"Choose --cache {percent}% or more, or at most {most} for --requests.",
    )
