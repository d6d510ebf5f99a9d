"""Figure 9: decode speed as the expert cache grows, eight requests."""

from engine.bench_plan import BenchCase
from engine.study.data import Drawn, StudyData
from engine.study.policies import BELADY, MAIN_RIVALS, OURS, rivals
from engine.study.scope import Scope
from engine.study.throughput import Lines, Point, draw_panels

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
    scope = data.scope
    points = {
        link: [
            Point(
                100 * cache,
                f"{100 * cache:.0f}",
                f"a cache of {cache:.0%}",
                scope.case(OURS, cache=cache, link=link),
            )
            for cache in scope.caches
        ]
        for link in scope.links
    }
    others = _others(scope)
    lines = Lines((BELADY, *others), others, "cache size (% of all experts)")
    return draw_panels(data, cases(scope), lines, points)


def _others(scope: Scope) -> tuple[str, ...]:
    return rivals(True) if scope.quick else MAIN_RIVALS
