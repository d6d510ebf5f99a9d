"""BenchReport: what `runahead bench` measured; its field names are a format that others read."""

import statistics
from collections.abc import Sequence

import msgspec

from engine.versions import Machine


class BenchRun(msgspec.Struct, frozen=True):
    """One policy in one round; times, hits, fetched and wasted are means per measured step.

    Attributes:
        link_bytes_per_s: The emulated link; 0: what the disk gives.
        cache_bytes: What the cache became.
        steps: Measured steps: all requests active, the warm-up left out.
    """

    policy: str
    requests: int
    cache_fraction: float
    link_bytes_per_s: int
    round: int
    tokens_per_s: float
    step_ms: float
    compute_busy_ms: float
    link_busy_ms: float
    both_busy_ms: float
    hit_rate: float
    fetched: float
    wasted: float
    scheduler_ms: float
    group_size: float
    cache_bytes: int
    steps: int

    @property
    def case(self) -> tuple[int, float, int]:
        """What is compared between policies: requests, cache, link."""
        return self.requests, self.cache_fraction, self.link_bytes_per_s


class BenchRatio(msgspec.Struct, frozen=True):
    """Tokens/s of `a` over `b`: of the rounds, each taken within itself."""

    a: str
    b: str
    requests: int
    cache_fraction: float
    link_bytes_per_s: int
    median: float
    min: float
    max: float

    @property
    def case(self) -> tuple[int, float, int]:
        """As BenchRun.case."""
        return self.requests, self.cache_fraction, self.link_bytes_per_s


class BenchReport(msgspec.Struct, frozen=True):
    """A whole benchmark.

    Attributes:
        link_emulated: Some runs had their reads slowed down to a set speed. streams_agree: Every
        request gave the same tokens in all runs; else `differences` says where.
    """

    model: str
    experts_total_bytes: int
    device: str
    store: str
    n_threads: int
    machine: Machine
    versions: dict[str, str]
    steps: int
    prompt_tokens: int
    link_emulated: bool
    streams_agree: bool
    differences: list[str]
    runs: list[BenchRun]
    ratios: list[BenchRatio]


def ratios_of(runs: Sequence[BenchRun], policies: Sequence[str]) -> list[BenchRatio]:
    """The first policy over each other one, per case."""
    ratios = []
    first = policies[0]
    for case in dict.fromkeys(run.case for run in runs):
        speeds = {(run.policy, run.round): run.tokens_per_s for run in runs if run.case == case}
        rounds = sorted({run.round for run in runs if run.case == case})
        for other in policies[1:]:
            found = [
                speeds[first, n] / speeds[other, n]
                for n in rounds
                if (first, n) in speeds and speeds.get((other, n), 0) > 0
            ]
            if found:
                median = statistics.median(found)
                ratios.append(BenchRatio(first, other, *case, median, min(found), max(found)))
    return ratios
