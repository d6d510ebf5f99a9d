"""Figure 11: static groupings against ours, by how many experts a step misses."""

import numpy as np
from numpy.typing import NDArray

from engine.bench_plan import BenchCase
from engine.link_speed import LinkSpeed
from engine.study import compare, style
from engine.study.data import Drawn, NoData, StudyData, Table
from engine.study.policies import OURS, static
from engine.study.scope import Scope

NAME = "fig11"
TITLE = "Groups fixed in advance against groups that form by themselves"
PAPER = "Bevy paper, Figure 11"
QUESTION = (
    "Six requests: which static grouping is fastest depends on how many experts a step misses. Is"
    " there a step for which a static one beats ours?"
)
NEEDS_ROUTING = 0

_N = 6
_STATIC = (
    static(3, 3),
    static(2, 2, 2),
    static(2, 2, 1, 1),
    static(2, 1, 1, 1, 1),
    static(1, 1, 1, 1, 1, 1),
)
_FEWER_STATIC = (static(3, 3), static(2, 2, 2), static(1, 1, 1, 1, 1, 1))
_CACHES = (0.2, 0.3, 0.4)
_LEAST_STEPS = 2  # in a bin


def cases(scope: Scope) -> list[BenchCase]:
    """Three cache sizes, so that steps miss few and many; quick: one, and fewer groupings."""
    caches = (0.3,) if scope.quick else _CACHES
    groupings = _FEWER_STATIC if scope.quick else _STATIC
    return [
        scope.case(policy, requests=_N, cache=cache, link=link)
        for link in scope.links
        for cache in caches
        for policy in (OURS, *groupings)
    ]


def draw(data: StudyData) -> Drawn:
    """One panel per link: mean step time over missing experts."""
    by_link = {link: _steps(data, link) for link in data.scope.links}
    by_link = {link: steps for link, steps in by_link.items() if steps}
    if not by_link:
        raise NoData("None of its runs has been made.")
    picture, axes = style.panels(len(by_link), width=max(6.6, 4.6 * len(by_link) + 0.6), height=3.8)
    rows: list[tuple[str | float | int, ...]] = []
    readings = []
    for ax, (link, steps) in zip(axes, by_link.items(), strict=True):
        edges = _edges(np.concatenate([missing for missing, _ in steps.values()]), len(steps))
        lines = {policy: _binned(*pair, edges) for policy, pair in steps.items()}
        for policy in (*_STATIC, OURS):
            points = lines.get(policy, [])
            if points:
                style.line(ax, policy, [x for x, _, _ in points], [y for _, y, _ in points])
            rows += [
                (str(link), style.label(policy), round(x, 1), round(y, 2), n) for x, y, n in points
            ]
        ax.set_xlabel("missing experts per step")
        ax.set_title(compare.link_title(data, link))
        readings.append(_reading(data, link, {p: float(ms.mean()) for p, (_, ms) in steps.items()}))
    axes[0].set_ylabel("mean step time (ms)")
    style.legend_below(picture, axes[0], 3)
    columns = ("link", "grouping", "missing experts per step", "step ms", "steps")
    return Drawn(
        picture,
        Table(columns, list(rows)),
        " ".join(readings),
        compare.slow_links(data, cases(data.scope)),
    )


Steps = tuple[NDArray[np.float64], NDArray[np.float64]]  # missing experts, step ms


def _steps(data: StudyData, link: LinkSpeed) -> dict[str, Steps]:
    """All measured steps of each policy."""
    found: dict[str, Steps] = {}
    for policy in (OURS, *_STATIC):
        runs = [
            run
            for case in cases(data.scope)
            if case.policy == policy and case.link == link
            for run in data.rounds(case)
        ]
        if runs:
            missing = [
                np.subtract(run.steps.fetched, run.steps.prefetched).astype(float) for run in runs
            ]
            step_ms = [np.array(run.steps.step_ms) for run in runs]
            found[policy] = np.concatenate(missing), np.concatenate(step_ms)
    return found


def _edges(missing: NDArray[np.float64], n_policy: int) -> NDArray[np.float64]:
    """Two to six bins of equal width, without the rare ends."""
    low, high = np.percentile(missing, [2, 98] if len(missing) > 50 * n_policy else [0, 100])
    n_bins = min(6, max(2, len(missing) // n_policy // 6))
    return np.linspace(low, max(high, low + 1) + 1e-6, n_bins + 1)


def _binned(
    missing: NDArray[np.float64], step_ms: NDArray[np.float64], edges: NDArray[np.float64]
) -> list[tuple[float, float, int]]:
    """(mean missing, mean step ms, steps) of each bin that has enough steps."""
    at = np.digitize(missing, edges)
    bins = [at == n for n in range(1, len(edges))]
    return [
        (float(missing[b].mean()), float(step_ms[b].mean()), int(b.sum()))
        for b in bins
        if b.sum() >= _LEAST_STEPS
    ]


def _reading(data: StudyData, link: LinkSpeed, means: dict[str, float]) -> str:
    static_means = {policy: ms for policy, ms in means.items() if policy != OURS}
    if OURS not in means or not static_means:
        return f"With {compare.link_title(data, link)}, nothing can be compared yet."
    best = min(static_means, key=lambda policy: static_means[policy])
    ours = means[OURS]
    word = "shorter" if ours <= static_means[best] else "longer"
    return (
        f"With {compare.link_title(data, link)}, bevy's mean step takes {ours:.0f} ms,"
        f" {abs(ours / static_means[best] - 1):.1%} {word} than with the best static grouping"
        f" ({style.label(best)}, {static_means[best]:.0f} ms)."
    )
