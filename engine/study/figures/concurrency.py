"""Figure 8: decode speed as the number of concurrent requests grows."""

from engine.bench_plan import BenchCase
from engine.study.data import Drawn, StudyData
from engine.study.policies import OURS, rivals
from engine.study.scope import Scope
from engine.study.throughput import Lines, Point, draw_panels

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
    scope = data.scope
    points = {
        link: [
            Point(
                at, str(n), f"{n} request{'s' * (n > 1)}", scope.case(OURS, requests=n, link=link)
            )
            for at, n in enumerate(scope.requests)
        ]
        for link in scope.links
    }
    others = rivals(scope.quick)
    return draw_panels(data, cases(scope), Lines(others, others, "concurrent requests"), points)
