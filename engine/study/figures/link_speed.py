"""Ours: where each policy wins as the link gets faster, eight requests."""

import itertools

from engine.bench_plan import BenchCase
from engine.link_speed import LinkSpeed
from engine.study import compare, style
from engine.study.data import Drawn, StudyData
from engine.study.policies import OURS, PLAIN, static
from engine.study.scope import Scope

NAME = "link"
TITLE = "Who wins at which link speed"
PAPER = ""
QUESTION = (
    "A slow link rewards fetching early, a fast one rewards large groups. Eight requests, 30 % of"
    " experts cached: where do the lines cross?"
)
NEEDS_ROUTING = 0

_RIVAL = static(4, 4)
_OTHERS = (*PLAIN, "promoe", "prescope")


def cases(scope: Scope) -> list[BenchCase]:
    """Every speed and policy."""
    return [scope.case(policy, link=link) for link in scope.sweep for policy in _policies(scope)]


def _policies(scope: Scope) -> tuple[str, ...]:
    """In the order of drawing."""
    return (*(("lockstep-lfu",) if scope.quick else _OTHERS), _RIVAL, OURS)


def draw(data: StudyData) -> Drawn:
    """Tokens per second over link speed, and the same over bevy's."""
    wanted = cases(data.scope)
    table = compare.table(data, wanted)
    speeds = {link: gbps for link in data.scope.sweep if (gbps := _gbps(data, link))}
    picture, (speed, relative) = style.panels(2, width=9.4, height=3.9)
    for policy in _policies(data.scope):
        points, ratios = [], []
        for link, gbps in speeds.items():
            case = data.scope.case(policy, link=link)
            if tokens := compare.tokens_per_s(data, case):
                points.append((gbps, tokens.median))
            if ratio := data.ratio(case, data.scope.case(OURS, link=link)):
                ratios.append((gbps, ratio.median))
        if points:
            style.line(speed, policy, *zip(*sorted(points), strict=True))
        if ratios:
            style.line(relative, policy, *zip(*sorted(ratios), strict=True))
    for axes in (speed, relative):
        axes.set_xscale("log")
        axes.set_xticks(list(speeds.values()), [f"{gbps:.2g}" for gbps in speeds.values()])
        axes.minorticks_off()
        axes.set_xlabel("link speed (GB/s)")
    style.from_zero(speed)
    speed.set_ylabel("tokens per second")
    relative.set_ylabel("speed over bevy's")
    speed.set_title("throughput")
    relative.set_title("the same, bevy = 1")
    style.legend_below(picture, speed, 6)
    notes = (*_full_note(data, speeds), *compare.slow_links(data, wanted))
    return Drawn(picture, table, _reading(data, speeds), notes)


def _gbps(data: StudyData, link: LinkSpeed) -> float:
    """Where a speed stands on the axis: as set, or as the disk gave it; 0 without any run."""
    runs = [run for case in cases(data.scope) if case.link == link for run in data.rounds(case)]
    if link.emulated:
        return link.bytes_per_s / 1e9 if runs else 0.0
    return max((run.link_gbps for run in runs), default=0.0)


def _full_note(data: StudyData, speeds: dict[LinkSpeed, float]) -> tuple[str, ...]:
    full = next((gbps for link, gbps in speeds.items() if not link.emulated), None)
    if full is None:
        return ()
    return (f"The rightmost speed is that of the link itself: up to {full:.1f} GB/s while busy.",)


def _reading(data: StudyData, speeds: dict[LinkSpeed, float]) -> str:
    """Where bevy and the static grouping cross, linearly between two measured speeds."""
    ratios = sorted(
        (gbps, ratio.median)
        for link, gbps in speeds.items()
        if (
            ratio := data.ratio(
                data.scope.case(OURS, link=link), data.scope.case(_RIVAL, link=link)
            )
        )
    )
    name = style.label(_RIVAL)
    if not ratios:
        return f"Bevy and {name} have not both been run."
    crossings = [
        a + (b - a) * (1 - ra) / (rb - ra)
        for (a, ra), (b, rb) in itertools.pairwise(ratios)
        if (ra - 1) * (rb - 1) < 0
    ]
    span = f"from {ratios[0][0]:.2g} to {ratios[-1][0]:.2g} GB/s"
    if crossings:
        places = " and ".join(f"{each:.1f} GB/s" for each in crossings)
        return (
            f"Bevy and {name} cross at {places}: bevy is {ratios[0][1]:.2f}× as fast at"
            f" {ratios[0][0]:.2g} GB/s and {ratios[-1][1]:.2f}× at {ratios[-1][0]:.2g} GB/s."
        )
    word = "faster" if ratios[0][1] > 1 else "slower"
    return (
        f"Bevy is {word} than {name} {span}"
        f" ({compare.times_range([ratio for _, ratio in ratios])}): they do not cross there."
    )
