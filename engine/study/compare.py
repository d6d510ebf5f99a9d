"""What figures over policies share: the table of their runs, and the fastest baseline of a case."""

from collections.abc import Sequence

import msgspec

from engine.bench_plan import BenchCase
from engine.bench_report import LINK_KEPT
from engine.link_speed import LinkSpeed
from engine.study.data import NoData, Spread, StudyData, Table, Value
from engine.study.policies import OURS
from engine.study.style import label

COLUMNS = (
    *("link", "requests", "cache %", "policy", "tok/s", "tok/s min", "tok/s max", "step ms"),
    *("link GB/s", "hits %", "fetched", "prefetched", "wasted"),
    *("bevy over it", "ratio min", "ratio max", "rounds"),
)


def table(data: StudyData, cases: Sequence[BenchCase]) -> Table:
    """One row per case that was run; counts are experts per step."""
    rows = [row for row in (_row(data, case) for case in cases) if row]
    if not rows:
        raise NoData("None of its runs has been made.")
    return Table(COLUMNS, rows)


def of_policy(case: BenchCase, policy: str) -> BenchCase:
    """The same case with another policy."""
    return msgspec.structs.replace(case, policy=policy)


def tokens_per_s(data: StudyData, case: BenchCase) -> Spread | None:
    """Over the rounds; None when it was not run."""
    return data.spread(case, lambda run: run.tokens_per_s)


def fastest(data: StudyData, case: BenchCase, rivals: Sequence[str]) -> tuple[str, Spread] | None:
    """The fastest of these policies in a case, and ours over it; None without both."""
    best: tuple[float, str, Spread] | None = None
    for policy in rivals:
        speed = tokens_per_s(data, of_policy(case, policy))
        ratio = data.ratio(of_policy(case, OURS), of_policy(case, policy))
        if speed and ratio and (best is None or speed.median > best[0]):
            best = (speed.median, policy, ratio)
    return best[1:] if best else None


def link_title(data: StudyData, link: LinkSpeed) -> str:
    """For example "link paced to 2 GB/s (emulated)"."""
    if data.origin.kind == "simulated":
        return f"link {link} (simulated)" if link.emulated else "the machine's own link (simulated)"
    return f"link paced to {link} (emulated)" if link.emulated else "full link speed"


def slow_links(data: StudyData, cases: Sequence[BenchCase]) -> tuple[str, ...]:
    """A note when the disk did not give what was to be emulated."""
    if data.origin.kind == "simulated":
        return ()
    paced = [run for case in cases if case.link.emulated for run in data.rounds(case)]
    slow = [
        run
        for run in paced
        if 0 < run.link_gbps * 1e9 < LINK_KEPT * run.case.link.bytes_per_s
        and run.mean("fetched") > 0
    ]
    if not slow:
        return ()
    least = min(slow, key=lambda run: run.link_gbps / run.case.link.bytes_per_s)
    return (
        f"In {len(slow)} of {len(paced)} runs the disk gave less than {LINK_KEPT:.0%} of the speed"
        f" that was to be emulated, at worst {least.link_gbps:.2g} GB/s instead of"
        f" {least.case.link}.",
    )


def times_range(ratios: Sequence[float]) -> str:
    """For example "1.07×" or "1.02 to 1.31×"."""
    low, high = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    return f"{low}×" if low == high else f"{low} to {high}×"


def _row(data: StudyData, case: BenchCase) -> tuple[Value, ...] | None:
    runs = data.rounds(case)
    speed = tokens_per_s(data, case)
    if not runs or speed is None:
        return None
    ratio = data.ratio(of_policy(case, OURS), case) if case.policy != OURS else None
    link_gbps = data.spread(case, lambda run: run.link_gbps)
    hits = data.spread(case, lambda run: run.hit_rate)
    assert link_gbps and hits
    return (
        str(case.link),
        case.requests,
        round(100 * (case.cache.fraction or 1)),
        label(case.policy),
        *(round(value, 3) for value in (speed.median, speed.least, speed.most)),
        _rounded(data.mean(case, "step_ms")),
        round(link_gbps.median, 2),
        round(100 * hits.median, 1),
        *(_rounded(data.mean(case, name)) for name in ("fetched", "prefetched", "wasted")),
        *((ratio.median, ratio.least, ratio.most) if ratio else (None, None, None)),
        len(runs),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
