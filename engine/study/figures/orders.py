"""Figure 12: what the two orders are worth: lowest layer first, for compute and for fetches."""

from engine.bench_plan import BenchCase
from engine.study import compare, style
from engine.study.data import Drawn, NoData, StudyData, Table
from engine.study.policies import OURS, ordered
from engine.study.scope import Scope

NAME = "fig12"
TITLE = "Other orders of computing and fetching"
PAPER = "Bevy paper, Figure 12; first-come-first-served fetching is ours"
QUESTION = (
    "Bevy serves the lowest layer first. What if the fetch order, the compute order or both ignore"
    " progress? Eight requests, 30 % of experts cached."
)
NEEDS_ROUTING = 0

_POLICIES = (
    OURS,
    ordered("lowest-layer", "global-srtf"),
    ordered("lowest-layer", "fifo"),
    ordered("fifo", "layer-srtf"),
    ordered("fifo", "global-srtf"),
)
_CHANGES = (
    ("device busy", style.SKY),
    ("device idle", style.PALE),
    ("step", style.INK),
)
_SIZES = (("1", 1, 1), ("2", 2, 2), ("3", 3, 3), ("4", 4, 4), ("5 or more", 5, 1 << 30))
_SIZE_COLOURS = ("#cfe3f1", "#93c2e0", "#569fcd", "#1f7cb8", "#08507f")


def cases(scope: Scope) -> list[BenchCase]:
    """Ours, and four variants; quick: the paper's three."""
    left_out = ordered("lowest-layer", "fifo") if scope.quick else ""
    return [scope.case(policy) for policy in _POLICIES if policy != left_out]


def draw(data: StudyData) -> Drawn:
    """Changes against ours; shares of groups by size."""
    found = [case for case in cases(data.scope) if data.rounds(case)]
    ours = data.scope.case(OURS)
    if len(found) < 2 or ours not in found:
        raise NoData("Bevy and one of its variants must be measured first.")
    times = {case.policy: _times(data, case) for case in found}
    shares = {case.policy: _shares(data, case) for case in found}
    variants = [case.policy for case in found if case.policy != OURS]
    picture, (change, sizes) = style.panels(2, width=9.6, height=1.9 + 0.42 * len(found))
    for at, policy in enumerate(variants):
        for n, (_, colour) in enumerate(_CHANGES):
            value = times[policy][n] - times[OURS][n]
            change.barh(-at - 0.24 * (n - 1), value, 0.22, color=colour)
    change.axvline(0, color=style.QUIET, linewidth=0.8)
    change.set_yticks([-n for n in range(len(variants))], [style.label(p) for p in variants])
    change.set_xlabel("change against bevy (ms per step)")
    change.set_title("time per step")
    for at, case in enumerate(found):
        style.stacked(sizes, -at, shares[case.policy], _SIZE_COLOURS)
    sizes.set_yticks([-n for n in range(len(found))], [style.label(c.policy) for c in found])
    sizes.set_xlabel("share of groups (%)")
    sizes.set_title("groups by their number of jobs")
    for axes, names in (
        (change, _CHANGES),
        (sizes, tuple((name, c) for (name, _, _), c in zip(_SIZES, _SIZE_COLOURS, strict=True))),
    ):
        style.horizontal(axes)
        style.patches_below(axes, names, 5)
    columns = (
        *("policy", "device busy ms", "device idle ms", "step ms", "bevy over it"),
        *(f"groups of {name} %" for name, _, _ in _SIZES),
    )
    rows = []
    for case in found:
        ratio = data.ratio(ours, case)
        row = (*times[case.policy], ratio.median if ratio else None, *shares[case.policy])
        rows.append((style.label(case.policy), *(None if v is None else round(v, 3) for v in row)))
    return Drawn(
        picture,
        Table(columns, list(rows)),
        _reading(times, shares),
        compare.slow_links(data, found),
    )


def _times(data: StudyData, case: BenchCase) -> tuple[float, float, float]:
    """Device busy, device idle, step: ms."""
    step, busy = data.mean(case, "step_ms") or 0.0, data.mean(case, "compute_ms") or 0.0
    return busy, step - busy, step


def _shares(data: StudyData, case: BenchCase) -> list[float]:
    """Of the groups, in percent, by _SIZES."""
    counts: dict[int, int] = {}
    for run in data.rounds(case):
        for size, n in enumerate(run.groups_of_size):
            counts[size] = counts.get(size, 0) + n
    total = sum(n for size, n in counts.items() if size) or 1
    return [
        100 * sum(n for size, n in counts.items() if low <= size <= high) / total
        for _, low, high in _SIZES
    ]


def _reading(times: dict[str, tuple[float, float, float]], shares: dict[str, list[float]]) -> str:
    def step_change(compute_order: str, fetch_order: str) -> str | None:
        policy = ordered(compute_order, fetch_order)
        return f"{times[policy][2] / times[OURS][2] - 1:+.1%}" if policy in times else None

    parts = [
        f"{change} when {what}"
        for what, change in (
            ("fetches go by global SRTF", step_change("lowest-layer", "global-srtf")),
            ("fetches go first come first served", step_change("lowest-layer", "fifo")),
            ("the oldest job is computed first", step_change("fifo", "layer-srtf")),
            ("oldest first and global SRTF come together", step_change("fifo", "global-srtf")),
        )
        if change
    ]
    fifo = ordered("fifo", "layer-srtf")
    tail = (
        f"; groups of a single job are {shares[OURS][0]:.0f} % with bevy and"
        f" {shares[fifo][0]:.0f} % when the oldest job goes first"
        if fifo in shares
        else ""
    )
    return f"Against bevy, the step time changes by {', '.join(parts)}{tail}."
