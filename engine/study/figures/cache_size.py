"""Figure 9: decode speed as the expert cache grows, eight requests."""

from typing import Any

from engine.bench_plan import BenchCase
from engine.link_speed import LinkSpeed
from engine.study import compare, style
from engine.study.data import Drawn, StudyData
from engine.study.policies import BELADY, MAIN_RIVALS, OURS, rivals
from engine.study.scope import Scope

NAME = "fig9"
TITLE = "Decode speed over cache sizes"
PAPER = "Bevy paper, Figure 9"
QUESTION = "What does memory buy? Eight requests, the expert cache from 10 to 70 % of all experts."
NEEDS_ROUTING = 0


def cases(scope: Scope) -> list[BenchCase]:
    """Every link, cache size and policy; simulated also the best eviction there can be."""
    bound = (BELADY,) if scope.kind == "simulated" else ()
    return [
        scope.case(policy, cache=cache, link=link)
        for link in scope.links
        for cache in scope.caches
        for policy in (OURS, *_others(scope), *bound)
    ]


def draw(data: StudyData) -> Drawn:
    """One panel per link; above our points: ours over the fastest baseline."""
    wanted = cases(data.scope)
    table = compare.table(data, wanted)
    links = [
        link for link in data.scope.links if any(c.link == link and data.rounds(c) for c in wanted)
    ]
    picture, axes = style.panels(len(links), width=4.6 * len(links) + 0.6, height=3.9)
    readings = [_panel(ax, data, link) for ax, link in zip(axes, links, strict=True)]
    axes[0].set_ylabel("tokens per second, all requests")
    style.legend_below(picture, axes[0], 4)
    return Drawn(picture, table, " ".join(readings), compare.slow_links(data, wanted))


def _others(scope: Scope) -> tuple[str, ...]:
    return rivals(True) if scope.quick else MAIN_RIVALS


def _panel(axes: Any, data: StudyData, link: LinkSpeed) -> str:
    scope = data.scope
    for policy in (BELADY, *_others(scope), OURS):
        found = [
            (100 * cache, speed.median)
            for cache in scope.caches
            if (speed := compare.tokens_per_s(data, scope.case(policy, cache=cache, link=link)))
        ]
        if found:
            style.line(axes, policy, [x for x, _ in found], [y for _, y in found])
    best = {}
    for cache in scope.caches:
        case = scope.case(OURS, cache=cache, link=link)
        ours, found_best = (
            compare.tokens_per_s(data, case),
            compare.fastest(data, case, _others(scope)),
        )
        if ours and found_best:
            best[cache] = found_best[1].median
            style.above(axes, 100 * cache, ours.median, f"{best[cache]:.2f}×")
    axes.set_xticks([round(100 * cache) for cache in scope.caches])
    axes.set_xlabel("cache size (% of all experts)")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.07, y=0.14)
    axes.set_title(compare.link_title(data, link))
    if not best:
        return f"With {compare.link_title(data, link)}, nothing can be compared yet."
    most = max(best, key=lambda cache: best[cache])
    slower = [f"{cache:.0%}" for cache, ratio in best.items() if ratio < 1]
    return (
        f"With {compare.link_title(data, link)}, bevy is"
        f" {compare.percent_range(list(best.values()))} as fast as the fastest baseline, at its"
        f" best with a cache of {most:.0%}"
        + (f"; it loses at {', '.join(slower)}." if slower else ".")
    )
