"""Comparison: two runs side by side, and what makes the comparison unfair."""

from collections.abc import Callable

import msgspec

from app.language import tr
from app.runs.run_summary import RunSummary
from engine import sizes
from engine.metrics import Summary


class Line(msgspec.Struct, frozen=True):
    """One figure of both; `better` says which is, -1: the first, 1: the second, 0: neither."""

    name: str
    first: str
    second: str
    ratio: str
    better: int = 0


class _Figure(msgspec.Struct, frozen=True):
    name: str
    of: Callable[[RunSummary, Summary], float]
    show: Callable[[float], str]
    good: int = 0  # 1: more is better, -1: less is


def _figures() -> list[_Figure]:
    def ms(value: float) -> str:
        return f"{value:.1f} ms"

    def share(value: float) -> str:
        return f"{value:.1%}"

    def count(value: float) -> str:
        return f"{value:,.1f}"

    return [
        _Figure(tr("Tokens/s while decoding"), lambda r, f: r.decode_per_s, count, 1),
        _Figure(tr("Step"), lambda r, f: f.step_ms, ms, -1),
        _Figure(tr("Compute busy"), lambda r, f: f.compute_busy_ms, ms),
        _Figure(tr("Link busy"), lambda r, f: f.link_busy_ms, ms),
        _Figure(tr("Both busy"), lambda r, f: f.both_share, share, 1),
        _Figure(tr("Neither busy"), lambda r, f: f.neither_ms, ms, -1),
        _Figure(tr("Hit rate"), lambda r, f: f.hit_rate, share, 1),
        _Figure(tr("Experts read per step"), lambda r, f: f.fetched, count, -1),
        _Figure(tr("Of these prefetched"), lambda r, f: f.prefetched, count),
        _Figure(tr("Prefetched in vain"), lambda r, f: f.wasted, count, -1),
        _Figure(tr("Read per step"), lambda r, f: f.link_bytes, sizes.show, -1),
        _Figure(tr("Link speed while busy"), lambda r, f: f.link_gbps, lambda v: f"{v:.2f} GB/s"),
        _Figure(tr("Jobs per group"), lambda r, f: f.group_size, count),
        _Figure(tr("Requests per step"), lambda r, f: r.requests, lambda v: f"{v:.0f}"),
        _Figure(tr("Scheduler"), lambda r, f: f.scheduler_ms, lambda v: f"{v:.2f} ms"),
        _Figure(tr("Steps"), lambda r, f: f.steps, lambda v: f"{v:,.0f}"),
        _Figure(tr("Tokens"), lambda r, f: f.tokens, lambda v: f"{v:,.0f}"),
    ]


def lines_of(run: RunSummary) -> list[tuple[str, str]]:
    """(name, figure) of one run."""
    if run.figures is None or not run.figures.steps:
        return []
    return [(each.name, each.show(each.of(run, run.figures))) for each in _figures()]


def compare(first: RunSummary, second: RunSummary) -> list[Line]:
    """Every figure of both; ratios are the second over the first."""
    one, other = first.figures, second.figures
    if one is None or other is None:
        return []
    lines = []
    for figure in _figures():
        a, b = figure.of(first, one), figure.of(second, other)
        ratio = f"{b / a:.2f}×" if a > 0 else "–"
        better = 0
        if figure.good and abs(a - b) > 0.01 * max(abs(a), abs(b)):
            better = 1 if (b > a) == (figure.good > 0) else -1
        lines.append(Line(figure.name, figure.show(a), figure.show(b), ratio, better))
    return lines


def differences(first: RunSummary, second: RunSummary) -> list[str]:
    """What differs that decides speed, apart from the policy: any of it makes the race unfair."""
    if first.meta is None or second.meta is None:
        return []
    one, other = first.meta, second.meta
    pairs = [
        (tr("model"), _model(first), _model(second)),
        (tr("cache"), first.cache_text, second.cache_text),
        (tr("link"), str(first.link), str(second.link)),
        (tr("store"), one.store, other.store),
        (tr("device"), one.device, other.device),
        (tr("processor"), one.machine.cpu, other.machine.cpu),
        (tr("threads"), *(str(run.option("n_threads", "")) for run in (first, second))),
        (tr("readers"), *(str(run.option("n_readers", "")) for run in (first, second))),
    ]
    found = [f"{name} {a} / {b}" for name, a, b in pairs if a != b]
    if first.figures and second.figures and first.requests != second.requests:
        found.append(tr("requests per step {a:.0f} / {b:.0f}", a=first.requests, b=second.requests))
    for n, run in enumerate((first, second), 1):
        if run.marks:
            found.append(tr("run {n} was changed while it ran ({marks})", n=n, marks=_marks(run)))
    return found


def _model(run: RunSummary) -> str:
    assert run.meta
    return f"{run.title} ({run.meta.model.fingerprint[:8]})"


def _marks(run: RunSummary) -> str:
    shown = ", ".join(mark.text for mark in run.marks[:2])
    return shown + (", …" if len(run.marks) > 2 else "")
