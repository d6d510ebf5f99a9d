"""Figure 5: requests that miss more early in a step keep missing more."""

import numpy as np
from numpy.typing import NDArray

from engine.bench_models.routing import Routing
from engine.bench_plan import BenchCase
from engine.study import style
from engine.study.data import Drawn, NoData, StudyData, Table, whole_steps
from engine.study.lfu_replay import lfu_snapshots
from engine.study.scope import CACHE, Scope

NAME = "fig5"
TITLE = "Stragglers"
PAPER = "Bevy paper, Figure 5"
QUESTION = (
    "Four requests are ranked by their misses in the first four layers of a step. Do those that"
    " missed more go on missing more?"
)
NEEDS_ROUTING = 4

_FIRST_LAYERS = 4
_RANKS = (
    ("most misses", style.RED, "d"),
    ("second", style.ORANGE, "^"),
    ("third", style.SKY, "o"),
    ("fewest", style.BLUE, "s"),
)


def cases(scope: Scope) -> list[BenchCase]:
    """It is computed from the routing alone."""
    return []


def draw(data: StudyData) -> Drawn:
    """Accumulated misses over the mean of the four, by rank, over layers."""
    if data.routing is None:
        raise NoData("It needs recorded routing, which is not there.")
    steps = whole_steps(data.routing, NEEDS_ROUTING)
    routing = data.routing.experts[steps][:, :NEEDS_ROUTING].astype(np.int32)
    n_step, _, n_layer, _ = routing.shape
    if n_step < 8 or n_layer <= _FIRST_LAYERS + 1:
        raise NoData(f"{n_step} recorded steps of {n_layer} layers are too few.")
    extra = extra_misses(routing, data.routing.n_expert, CACHE, n_step // 2)
    picture, (axes,) = style.panels(1, width=6.0, height=3.5)
    layers = np.arange(_FIRST_LAYERS, n_layer)
    for values, (name, colour, marker) in zip(extra, _RANKS, strict=True):
        axes.plot(layers, values, color=colour, marker=marker, label=name, markeredgecolor="white")
    axes.axhline(0, color=style.QUIET, linewidth=0.8)
    axes.set_xlabel("layer")
    axes.set_ylabel("accumulated extra misses")
    style.legend_below(picture, axes, 4)
    rows = [
        (name, int(layer), round(float(value), 3))
        for values, (name, _, _) in zip(extra, _RANKS, strict=True)
        for layer, value in zip(layers, values, strict=True)
    ]
    gap = float(extra[0, -1] - extra[-1, -1])
    verdict = (
        "who misses more early goes on missing more"
        if gap > 0.5
        else "early misses say little about later ones here"
    )
    return Drawn(
        picture,
        Table(("rank", "layer", "accumulated extra misses"), list(rows)),
        f"From layer {_FIRST_LAYERS} to the last, the request that missed most before misses"
        f" {gap:.1f} experts more per step than the one that missed fewest: {verdict}.",
        (
            f"Computed from recorded routing: {n_step - n_step // 2} steps, LFU cache of"
            f" {CACHE:.0%}. Layers 0 to {_FIRST_LAYERS - 1} rank the requests and are not counted.",
        ),
    )


def extra_misses(
    routing: Routing, n_expert: int, cached_share: float, warm_up: int
) -> NDArray[np.float64]:
    """[requests by rank, layers after the first four]: accumulated, mean over steps.

    routing: [steps, requests, layers, experts per token].
    """
    resident = lfu_snapshots(routing, n_expert, cached_share).resident
    n_step, n_request, n_layer, _ = routing.shape
    step, _, layer = np.ogrid[:n_step, :n_request, :n_layer]
    misses = (~resident[step[..., None], layer[..., None], routing]).sum(axis=3)[warm_up:]
    order = np.argsort(-misses[:, :, :_FIRST_LAYERS].sum(axis=2), axis=1, kind="stable")
    ranked = np.take_along_axis(misses, order[:, :, None], axis=1)[:, :, _FIRST_LAYERS:]
    extra = ranked - ranked.mean(axis=1, keepdims=True)
    return np.asarray(extra.cumsum(axis=2).mean(axis=0), dtype=np.float64)
