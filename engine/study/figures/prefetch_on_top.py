"""Figure 13: does prefetching help on top of runahead?"""

from engine.bench_plan import BenchCase
from engine.study import compare, style
from engine.study.data import Drawn, NoData, StudyData
from engine.study.policies import OURS, WITH_PREFETCH
from engine.study.scope import Scope

NAME = "fig13"
TITLE = "Prefetching on top of bevy"
PAPER = "Bevy paper, Figure 13"
QUESTION = (
    "While the link is idle, bevy+prefetch reads what the next router would choose. Any help?"
)
NEEDS_ROUTING = 0


def cases(scope: Scope) -> list[BenchCase]:
    """Both, at every number of requests."""
    return [
        scope.case(policy, requests=n) for n in scope.requests for policy in (OURS, WITH_PREFETCH)
    ]


def draw(data: StudyData) -> Drawn:
    """Throughput of both; what was prefetched, needed and in vain."""
    table = compare.table(data, cases(data.scope))
    requests = data.scope.requests
    ahead = {n: data.scope.case(WITH_PREFETCH, requests=n) for n in requests}
    found = [n for n in requests if data.rounds(ahead[n])]
    if not found:
        raise NoData("bevy+prefetch has not been run.")
    picture, (speed, reads) = style.panels(2, width=8.8, height=3.6)
    for policy in (WITH_PREFETCH, OURS):
        points = [
            (at, tokens.median)
            for at, n in enumerate(requests)
            if (tokens := compare.tokens_per_s(data, data.scope.case(policy, requests=n)))
        ]
        if points:
            style.line(speed, policy, [x for x, _ in points], [y for _, y in points])
    speed.legend(loc="upper left")
    speed.set_ylabel("tokens per second")
    style.from_zero(speed)
    needed = {
        n: _count(data, ahead[n], "prefetched") - _count(data, ahead[n], "wasted") for n in found
    }
    wasted = {n: _count(data, ahead[n], "wasted") for n in found}
    at = [requests.index(n) for n in found]
    reads.bar(at, list(needed.values()), 0.55, color=style.GREEN, label="needed")
    reads.bar(
        at,
        list(wasted.values()),
        0.55,
        bottom=list(needed.values()),
        color=style.RED,
        label="in vain",
    )
    reads.legend(loc="upper left")
    reads.set_ylim(0, 1.25 * max(1.0, *(needed[n] + wasted[n] for n in found)))
    reads.set_ylabel("prefetched experts per step")
    for axes, title in ((speed, "throughput"), (reads, "prefetches")):
        axes.set_xticks(range(len(requests)), [str(n) for n in requests])
        axes.set_xlabel("concurrent requests")
        axes.set_title(title)
    reading = []
    for n in found:
        ratio = data.ratio(ahead[n], data.scope.case(OURS, requests=n))
        share = wasted[n] / (needed[n] + wasted[n]) if needed[n] + wasted[n] else 0
        if ratio:
            reading.append(f"{ratio.median - 1:+.1%} at {n} ({share:.0%} in vain)")
    text = f"By requests, prefetching changes bevy's throughput by {', '.join(reading)}."
    return Drawn(
        picture, table, text if reading else "", compare.slow_links(data, cases(data.scope))
    )


def _count(data: StudyData, case: BenchCase, column: str) -> float:
    return data.mean(case, column) or 0.0
