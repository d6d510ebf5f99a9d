"""Pictures of decode speed: policies' lines over requests or cache sizes, one panel per link."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.bench_plan import BenchCase
from engine.link_speed import LinkSpeed
from engine.study import compare, style
from engine.study.data import Drawn, StudyData
from engine.study.policies import OURS, PLAIN


@dataclass(frozen=True)
class Point:
    """A place on the x axis; `case` is ours there, `words` is how a sentence says it."""

    x: float
    tick: str
    words: str
    case: BenchCase


@dataclass(frozen=True)
class Lines:
    """What a picture shows: these policies; `rivals` among them are what ours is compared with."""

    policies: Sequence[str]
    rivals: Sequence[str]
    x_label: str


def draw_panels(
    data: StudyData,
    cases: Sequence[BenchCase],
    lines: Lines,
    points: dict[LinkSpeed, list[Point]],
) -> Drawn:
    """One panel per link that has runs. Raises NoData."""
    table = compare.table(data, cases)
    links = [
        link for link in points if any(case.link == link and data.rounds(case) for case in cases)
    ]
    picture, axes = style.panels(len(links), width=max(6.6, 4.6 * len(links) + 0.6), height=3.9)
    readings = [
        _panel(each, data, lines, link, points[link])
        for each, link in zip(axes, links, strict=True)
    ]
    axes[0].set_ylabel("tokens per second, all requests")
    style.legend_below(picture, axes[0], 4 if len(links) > 1 else 3)
    return Drawn(picture, table, " ".join(readings), compare.slow_links(data, cases))


def _panel(
    axes: Any, data: StudyData, lines: Lines, link: LinkSpeed, points: Sequence[Point]
) -> str:
    """Above our points: ours over the fastest baseline."""
    for policy in (*lines.policies, OURS):
        found = [
            (point.x, speed.median)
            for point in points
            if (speed := compare.tokens_per_s(data, compare.of_policy(point.case, policy)))
        ]
        if found:
            style.line(axes, policy, [x for x, _ in found], [y for _, y in found])
    best: dict[Point, float] = {}
    for point in points:
        ours = compare.tokens_per_s(data, point.case)
        rival = compare.fastest(data, point.case, lines.rivals)
        if ours and rival:
            best[point] = rival[1].median
            style.above(axes, point.x, ours.median, f"{best[point]:.2f}×")
    axes.set_xticks([point.x for point in points], [point.tick for point in points])
    axes.set_xlabel(lines.x_label)
    axes.margins(x=0.07)
    style.from_zero(axes)
    axes.set_title(compare.link_title(data, link))
    return _reading(data, compare.link_title(data, link), points, best)


def _reading(data: StudyData, title: str, points: Sequence[Point], best: dict[Point, float]) -> str:
    if not best:
        return f"With {title}, nothing can be compared yet."
    plain = [
        ratio.median
        for point in points
        if (ratio := data.ratio(point.case, compare.of_policy(point.case, PLAIN[0])))
    ]
    lost = [point.words for point, ratio in best.items() if ratio < 1]
    return (
        f"With {title}, bevy is {compare.times_range(list(best.values()))} as fast as the fastest"
        " baseline"
        + (f" (it loses at {', '.join(lost)})" if lost else "")
        + (f", and {compare.times_range(plain)} as fast as llama.cpp's policy." if plain else ".")
    )
