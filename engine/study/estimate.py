"""How long the rest of a study will take: a rough model first, then what the runs took."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.bench_plan import BenchCase
from engine.study.results import CaseResult
from engine.study.scope import Scope

_DISK_BYTES_PER_S = 3.0e9
_COMPUTE_BYTES_PER_S = 8.0e9
_OVERHEAD_S = 1.5
# A simulated second takes about so many.
_SIMULATED = 0.02


@dataclass(frozen=True)
class ModelSize:
    """What the rough model knows of a model."""

    n_layer: int
    n_expert: int
    n_used: int
    record_bytes: int
    simulated: bool = False


def guessed_seconds(case: BenchCase, scope: Scope, size: ModelSize) -> float:
    """Before anything has run: experts read and computed at typical speeds, one after the other."""
    spared = 1 - size.n_used / size.n_expert  # chance that a request leaves an expert out
    distinct = size.n_expert * (1 - spared ** (0.75 * case.requests))
    cache = case.cache.fraction or 1.0
    absent = 1 - cache**0.55
    link = min(case.link.bytes_per_s or _DISK_BYTES_PER_S, _DISK_BYTES_PER_S)
    layer_bytes = distinct * size.record_bytes
    step_s = size.n_layer * layer_bytes * (absent / link + 1 / _COMPUTE_BYTES_PER_S)
    run_s = scope.total_steps(case.requests) * step_s + _OVERHEAD_S
    return float(run_s * _SIMULATED if size.simulated else run_s)


class TimeLeft:
    """Scales the guess by what runs took: those of the same policy and link count most."""

    def __init__(self, scope: Scope, size: ModelSize, done: Sequence[CaseResult]):
        self._scope = scope
        self._size = size
        self._done: list[tuple[BenchCase, float]] = []
        for run in done:
            self.add(run)

    def add(self, run: CaseResult) -> None:
        """A run has ended."""
        guess = guessed_seconds(run.case, self._scope, self._size)
        self._done.append((run.case, run.seconds / guess))

    def seconds(self, case: BenchCase) -> float:
        """Of one run."""
        guess = guessed_seconds(case, self._scope, self._size)
        weighted = [
            (1 + 4 * (done.link == case.link) + 8 * (done.policy == case.policy), factor)
            for done, factor in self._done
        ]
        if not weighted:
            return guess
        return guess * sum(w * f for w, f in weighted) / sum(w for w, _ in weighted)

    def total(self, cases: Sequence[BenchCase]) -> float:
        """Of all these runs."""
        return sum(self.seconds(case) for case in cases)


def in_words(seconds: float) -> str:
    """For example "40 s", "7 min", "3 h 20 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
