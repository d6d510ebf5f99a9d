"""Figure 10: where a step's time goes and what is fetched, with the same eviction for all."""

from engine.bench_plan import BenchCase
from engine.study import compare, style
from engine.study.data import Drawn, NoData, StudyData, Table
from engine.study.policies import OURS, with_lfu
from engine.study.scope import Scope

NAME = "fig10"
TITLE = "Where the time goes"
PAPER = "Bevy paper, Figure 10"
QUESTION = (
    "How much do the link and the device work at the same time, and how much of what is fetched is"
    " needed? Eight requests, 30 % of experts cached, LFU eviction for all."
)
NEEDS_ROUTING = 0

_POLICIES = ("lockstep-lfu", with_lfu("finemoe"), with_lfu("specmd"), OURS)
_PARTS = (
    ("both busy", style.BLUE),
    ("link busy, device idle", style.ORANGE),
    ("link idle, device busy", style.SKY),
    ("both idle", style.PALE),
)
_KINDS = (
    ("on demand", style.BLUE),
    ("prefetched and needed", style.GREEN),
    ("prefetched in vain", style.RED),
)


def cases(scope: Scope) -> list[BenchCase]:
    """Lockstep, two prefetchers, ours."""
    return [scope.case(policy) for policy in _POLICIES]


def draw(data: StudyData) -> Drawn:
    """Two panels of bars: time, fetches."""
    found = [case for case in cases(data.scope) if data.rounds(case)]
    if not found:
        raise NoData("None of its runs has been made.")
    picture, (time, fetches) = style.panels(2, width=9.4, height=1.9 + 0.36 * len(found))
    rows: list[tuple[str | float, ...]] = []
    for at, case in enumerate(found):
        mean = {
            name: data.mean(case, name) or 0.0
            for name in ("step_ms", "compute_ms", "link_ms", "both_ms")
        }
        both = mean["both_ms"]
        busy = (both, mean["link_ms"] - both, mean["compute_ms"] - both)
        parts = (*busy, max(0.0, mean["step_ms"] - sum(busy)))
        fetched, ahead, wasted = (
            data.mean(case, name) or 0.0 for name in ("fetched", "prefetched", "wasted")
        )
        kinds = (fetched - ahead, ahead - wasted, wasted)
        style.stacked(time, -at, parts, [colour for _, colour in _PARTS])
        style.stacked(fetches, -at, kinds, [colour for _, colour in _KINDS])
        rows.append(
            (style.label(case.policy), *(round(v, 2) for v in (mean["step_ms"], *parts, *kinds)))
        )
    for axes, what, names in ((time, "ms per step", _PARTS), (fetches, "experts per step", _KINDS)):
        axes.set_yticks([-n for n in range(len(found))], [style.label(c.policy) for c in found])
        axes.set_xlabel(what)
        style.horizontal(axes)
        style.patches_below(axes, names, 2)
    fetches.set_yticklabels([])
    time.set_title("time, by who is busy")
    fetches.set_title("experts read")
    columns = ("policy", "step ms", *(f"{n} ms" for n, _ in _PARTS), *(n for n, _ in _KINDS))
    return Drawn(
        picture,
        Table(columns, list(rows)),
        _reading(data),
        (
            "A prefetch counts as in vain when no request used its expert in the same step.",
            *compare.slow_links(data, found),
        ),
    )


def _reading(data: StudyData) -> str:
    ours, plain = data.scope.case(OURS), data.scope.case("lockstep-lfu")
    sentences = []
    for case in (plain, ours):
        step, both = data.mean(case, "step_ms"), data.mean(case, "both_ms")
        if step and both is not None:
            sentences.append(f"{both / step:.0%} of the step in {style.label(case.policy)}")
    fetched, other = data.mean(ours, "fetched"), data.mean(plain, "fetched")
    text = f"Link and device are busy together for {' and '.join(sentences)}." if sentences else ""
    if fetched and other:
        text += f" Bevy reads {fetched / other - 1:+.1%} experts per step compared with lockstep."
    return text.strip()
