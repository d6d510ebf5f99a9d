"""BenchReport: what `runahead bench` measured; its field names are a format that others read."""

import statistics
from collections.abc import Sequence

import msgspec

from engine.bench_plan import BenchPlan
from engine.versions import Machine

# An emulated link that gave less than this share of its speed was not emulated.
LINK_KEPT = 0.9


class BenchRun(msgspec.Struct, frozen=True):
    """One policy in one round; times, hits and counts are means per measured step.

    Attributes:
        link_bytes_per_s: The emulated link; 0: what the disk gives.
        fetched: Experts read, `prefetched` included; of these no job of their step used `wasted`.
        link_gbps: Gigabytes per second that arrived while the link was busy.
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
    prefetched: float
    wasted: float
    link_gbps: float
    scheduler_ms: float
    group_size: float
    cache_bytes: int
    steps: int

    @property
    def case(self) -> tuple[int, float, int]:
        """What is compared between policies: requests, cache, link."""
        return self.requests, self.cache_fraction, self.link_bytes_per_s

    @property
    def key(self) -> tuple[str, int, float, int, int]:
        """What no two runs of a benchmark share."""
        return self.policy, *self.case, self.round

    @property
    def link_kept(self) -> bool:
        """False when the disk could not give the speed that was to be emulated."""
        return self.fetched == 0 or self.link_gbps * 1e9 >= LINK_KEPT * self.link_bytes_per_s


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
    """A benchmark, whole or as far as it got.

    Attributes:
        complete: Every run of the plan is there.
        link_emulated: Some runs had their reads slowed down to a set speed.
        streams_agree: Every request gave the same tokens in all runs; else see `differences`.
        first_streams: Per request, the run that others are compared with, and its tokens.
    """

    model: str
    fingerprint: str
    experts_total_bytes: int
    device: str
    store: str
    n_threads: int
    n_readers: int
    machine: Machine
    versions: dict[str, str]
    plan: BenchPlan
    steps: int
    prompt_tokens: int
    complete: bool
    link_emulated: bool
    streams_agree: bool
    differences: list[str]
    runs: list[BenchRun]
    ratios: list[BenchRatio]
    first_streams: list[tuple[str, tuple[int, ...]]]


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
