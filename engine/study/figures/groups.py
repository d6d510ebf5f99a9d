"""Figure 4: what it costs to compute six requests in more groups, and how fetch time varies."""

import numpy as np
from matplotlib.patheffects import withStroke

from engine.bench_plan import BenchCase
from engine.study import compare, style
from engine.study.data import Drawn, NoData, StudyData, Table
from engine.study.policies import static
from engine.study.scope import Scope

NAME = "fig4"
TITLE = "Compute time by number of groups, and the fetch time of each step"
PAPER = "Bevy paper, Figure 4"
QUESTION = (
    "Six requests, 30 % of experts cached: what does it cost to compute them in groups, and does"
    " one grouping fit all steps?"
)
NEEDS_ROUTING = 0

_N = 6
_GROUPINGS = {
    1: "lockstep-lfu",
    2: static(3, 3),
    3: static(2, 2, 2),
    6: static(1, 1, 1, 1, 1, 1),
}


def cases(scope: Scope) -> list[BenchCase]:
    """One, two, three and six groups."""
    return [scope.case(policy, requests=_N) for policy in _GROUPINGS.values()]


def draw(data: StudyData) -> Drawn:
    """Bars of compute time with the mean fetch time as a line; fetch time over steps."""
    compute = {
        n: ms
        for n, policy in _GROUPINGS.items()
        if (ms := data.mean(data.scope.case(policy, requests=_N), "compute_ms")) is not None
    }
    if not compute:
        raise NoData("None of its runs has been made.")
    # Every grouping fetches nearly the same; one group has no time in which reads wait for others.
    case = next(c for c in cases(data.scope) if data.rounds(c))
    fetch = np.array(data.rounds(case)[0].steps.link_ms)
    mean = float(fetch.mean())

    picture, (bars, steps) = style.panels(2, width=8.8, height=3.3, ratios=[1, 1.3])
    bars.bar(range(len(compute)), list(compute.values()), 0.6, color=style.SKY)
    for at, ms in enumerate(compute.values()):
        bars.text(at, ms, f"{ms:.0f}", ha="center", va="bottom", fontsize=8.5)
    bars.axhline(mean, color=style.INK, linewidth=1.2, linestyle=(0, (4, 3)))
    bars.annotate(
        "mean fetch time",
        (0.01, mean),
        xycoords=bars.get_yaxis_transform(),
        xytext=(0, 3),
        textcoords="offset points",
        ha="left",
        fontsize=8,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )
    bars.set_xticks(range(len(compute)), [str(n) for n in compute])
    bars.set_xlabel("groups")
    bars.set_ylabel("compute per step (ms)")
    bars.set_ylim(top=1.12 * max(*compute.values(), mean))
    steps.plot(np.arange(len(fetch)), fetch, color=style.BLUE, linewidth=1.4)
    steps.axhline(mean, color=style.INK, linewidth=1.2, linestyle=(0, (4, 3)))
    steps.set_xlabel("step")
    steps.set_ylabel("fetch per step (ms)")
    steps.set_ylim(bottom=0)
    bars.set_title("compute time")
    steps.set_title(f"fetch time, {style.label(case.policy)}")

    rows = [("compute", n, round(ms, 2)) for n, ms in compute.items()]
    rows += [("fetch", step, round(float(ms), 2)) for step, ms in enumerate(fetch)]
    return Drawn(
        picture,
        Table(("what", "groups or step", "ms per step"), list(rows)),
        _reading(compute, float(fetch.min()), float(fetch.max())),
        compare.slow_links(data, cases(data.scope)),
    )


def _reading(compute: dict[int, float], shortest: float, longest: float) -> str:
    """What grouping costs, and whether one of them suits all steps."""
    few, many = min(compute), max(compute)
    span = f"the fetch time of a step ranges from {shortest:.0f} to {longest:.0f} ms"
    if few == many:
        return f"{_N} requests in {few} groups compute {compute[few]:.0f} ms per step; {span}."
    text = (
        f"Computing {_N} requests in {many} groups takes {compute[many] / compute[few]:.2f}× as"
        f" long as in {few}; {span}"
    )
    if shortest > compute[many]:
        return f"{text}, always longer than any grouping computes: the link binds in every step."
    if longest < compute[few]:
        return f"{text}, always shorter than any grouping computes: compute binds in every step."
    return f"{text}, around what groupings compute: none that is fixed suits every step."
