"""Figure 8: decode speed as the number of concurrent requests grows."""

from typing import Any

from engine.bench_plan import BenchCase
from engine.link_speed import LinkSpeed
from engine.study import compare, style
from engine.study.data import Drawn, StudyData
from engine.study.policies import OURS, rivals
from engine.study.scope import Scope

NAME = "fig8"
TITLE = "Decode speed over concurrent requests"
PAPER = "Bevy paper, Figure 8"
QUESTION = "How many tokens per second do all requests together get, with 30 % of experts cached?"
NEEDS_ROUTING = 0


def cases(scope: Scope) -> list[BenchCase]:
    """Every link, number of requests and policy."""
    return [
        scope.case(policy, requests=n, link=link)
        for link in scope.links
        for n in scope.requests
        for policy in (OURS, *rivals(scope.quick))
    ]


def draw(data: StudyData) -> Drawn:
    """One panel per link; above our points: ours over the fastest baseline."""
    wanted = cases(data.scope)
    table = compare.table(data, wanted)
    links = [
        link for link in data.scope.links if any(c.link == link and data.rounds(c) for c in wanted)
    ]
    picture, axes = style.panels(len(links), width=4.6 * len(links) + 0.6, height=3.9)
    readings = []
    for ax, link in zip(axes, links, strict=True):
        readings.append(_panel(ax, data, link))
    axes[0].set_ylabel("tokens per second, all requests")
    style.legend_below(picture, axes[0], 4)
    return Drawn(picture, table, " ".join(readings), compare.slow_links(data, wanted))


def _panel(axes: Any, data: StudyData, link: LinkSpeed) -> str:
    scope = data.scope
    others = rivals(scope.quick)
    for policy in (*others, OURS):
        found = [
            (n, speed.median)
            for n in scope.requests
            if (speed := compare.tokens_per_s(data, scope.case(policy, requests=n, link=link)))
        ]
        if found:
            style.line(
                axes, policy, [scope.requests.index(n) for n, _ in found], [s for _, s in found]
            )
    best: dict[int, float] = {}
    for at, n in enumerate(scope.requests):
        case = scope.case(OURS, requests=n, link=link)
        ours, rival = compare.tokens_per_s(data, case), compare.fastest(data, case, others)
        if ours and rival:
            best[n] = rival[1].median
            style.above(axes, at, ours.median, f"{best[n]:.2f}×")
    axes.set_xticks(range(len(scope.requests)), [str(n) for n in scope.requests])
    axes.set_xlabel("concurrent requests")
    axes.set_ylim(bottom=0)
    axes.margins(y=0.14)
    axes.set_title(compare.link_title(data, link))
    if not best:
        return f"With {compare.link_title(data, link)}, nothing can be compared yet."
    slower = [str(n) for n, ratio in best.items() if ratio < 1]
    return (
        f"With {compare.link_title(data, link)}, bevy is"
        f" {compare.percent_range(list(best.values()))} as fast as the fastest baseline"
        + (f" and loses at {', '.join(slower)} requests." if slower else ".")
    )
