"""Figure 2: caching makes prefetchers less precise."""

import numpy as np

from engine.bench_plan import BenchCase
from engine.study import predictors, style
from engine.study.data import Drawn, NoData, StudyData, Table, whole_steps
from engine.study.lfu_replay import lfu_snapshots
from engine.study.precision import COVERAGE, Precision, precision_under_cache
from engine.study.scope import Scope

NAME = "fig2"
TITLE = "Prefetchers are less precise beside a cache"
PAPER = "Bevy paper, Figure 2"
QUESTION = (
    "Of the experts that a prefetcher selects in order to cover 80 % of what a layer misses, how"
    " many does the layer need?"
)
NEEDS_ROUTING = 8

_CACHES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def cases(scope: Scope) -> list[BenchCase]:
    """It is computed from the routing alone."""
    return []


def draw(data: StudyData) -> Drawn:
    """One panel per prefetcher: actual cache, randomised cache, no cache."""
    trace = data.routing
    if trace is None or trace.probabilities is None or trace.lookahead is None:
        raise NoData("It needs recorded routing with the routers' scores, which is not there.")
    steps = whole_steps(trace, NEEDS_ROUTING)
    experts = trace.experts[steps][:, :NEEDS_ROUTING]
    probabilities = trace.probabilities[steps][:, :NEEDS_ROUTING]
    lookahead = trace.lookahead[steps][:, :NEEDS_ROUTING]
    n_step, n_request, n_layer, _ = experts.shape
    warm_up = n_step // 2
    if n_step < 8 or n_layer <= predictors.FINEMOE_DISTANCE:
        raise NoData(f"{n_step} recorded steps of {n_layer} layers are too few.")
    scores = {
        "ProMoE": predictors.learned(experts, probabilities, lookahead, warm_up),
        "Mixtral-Offloading": predictors.next_router(lookahead),
        "FineMoE": predictors.map_match(probabilities),
    }
    # The same layers and steps for all: those that each of them foretells, after the warm-up.
    for each in scores.values():
        each[:warm_up] = np.nan
        each[:, : predictors.FINEMOE_DISTANCE] = np.nan
    found: dict[str, dict[float, Precision]] = {name: {} for name in scores}
    for cache in _CACHES:
        snapshots = lfu_snapshots(experts.astype(np.int32), trace.n_expert, cache)
        for name, each in scores.items():
            found[name][cache] = precision_under_cache(each, snapshots)
    picture, axes = style.panels(3, width=9.4, height=3.3, share_y=True)
    x = [100 * cache for cache in _CACHES]
    rows = []
    for ax, (name, by_cache) in zip(axes, found.items(), strict=True):
        none = 100 * by_cache[0.0].actual
        actual = [100 * p.actual for p in by_cache.values()]
        randomised = [100 * p.randomised for p in by_cache.values()]
        ax.plot(x, [none] * len(x), color=style.GREY, linestyle=(0, (1, 2)), label="no cache")
        ax.plot(x, randomised, color=style.ORANGE, linestyle=(0, (5, 2)), label="randomised cache")
        ax.plot(x, actual, color=style.BLUE, marker="o", label="actual cache")
        ax.set_title(name)
        ax.set_xlabel("cache size (% of all experts)")
        rows += [
            (
                *(name, round(100 * cache), round(100 * p.actual, 1)),
                *(round(100 * p.randomised, 1), round(none, 1), round(100 * p.held, 1)),
            )
            for cache, p in by_cache.items()
        ]
    axes[0].set_ylim(0, 100)
    axes[0].set_ylabel("precision (%)")
    style.legend_below(picture, axes[0], 3)
    columns = ("prefetcher", "cache %", "actual %", "randomised %", "no cache %", "held %")
    return Drawn(
        picture,
        Table(columns, list(rows)),
        _reading(found),
        (
            f"Computed from the routing of {n_request} requests over {n_step} steps (the first half"
            f" trains and warms up), LFU cache, at {COVERAGE:.0%} coverage of what layers miss.",
            "ProMoE's own predictor reads hidden states; here it is a linear model over routers'"
            " scores.",
        ),
    )


def _reading(found: dict[str, dict[float, Precision]]) -> str:
    parts = [
        f"{name} from {by_cache[0.0].actual:.0%} to {by_cache[0.3].actual:.0%}"
        f" ({by_cache[0.3].randomised:.0%} with a randomised one)"
        for name, by_cache in found.items()
    ]
    held = next(iter(found.values()))[0.3].held
    return (
        f"With a cache of 30 %, which holds {held:.0%} of what layers need, precision goes: "
        + ", ".join(parts)
        + "."
    )
