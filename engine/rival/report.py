"""RivalReport: what `runahead rival` measured; its field names are a format that others read."""

import statistics
from collections.abc import Sequence

import msgspec

from engine.versions import Machine

OURS, THEIRS = "runahead", "llama.cpp"


class RivalCase(msgspec.Struct, frozen=True, kw_only=True):
    """What both sides were given.

    Attributes:
        used_bytes: What Runahead took without a tight limit: resident weights, slots, KV caches and
            all the rest. budget_bytes: The limit of every run of the case; a little more than that.
        llama_config: llama.cpp's fastest way to run within it.
    """

    requests: int
    cache_fraction: float
    resident_bytes: int
    cache_bytes: int
    used_bytes: int
    budget_bytes: int
    llama_config: str = ""


class RivalTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One way to run llama.cpp, tried briefly; tokens_per_s 0: it failed, for this reason."""

    requests: int
    cache_fraction: float
    config: str
    tokens_per_s: float
    reason: str = ""


class RivalRun(msgspec.Struct, frozen=True, kw_only=True):
    """One side in one round; read_bytes and major_faults are means per measured step.

    Attributes:
        own_bytes: Most memory in use that was no page cache; peak_bytes: page cache included.
    """

    side: str
    requests: int
    cache_fraction: float
    round: int
    tokens_per_s: float
    step_ms: float
    steps: int
    read_bytes: float
    major_faults: float
    own_bytes: int
    peak_bytes: int


class RivalRatio(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens/s of Runahead over llama.cpp: of the rounds, each taken within itself."""

    requests: int
    cache_fraction: float
    median: float
    min: float
    max: float


class RivalReport(msgspec.Struct, kw_only=True):
    """A whole comparison; it grows run by run.

    Attributes:
        streams_agree: Runahead gave the same tokens in every run, those that llama.cpp was fed.
        read_ahead_kb: What Linux reads around a page that a mapping misses; 0 where unknown.
    """

    model: str
    model_bytes: int
    machine: Machine
    versions: dict[str, str]
    device: str = ""
    policy: str
    store: str
    n_threads: int
    n_readers: int
    workload: str
    prompt_tokens: int
    warm_up: int
    steps: int
    rounds: int
    read_ahead_kb: int
    streams_agree: bool = True
    cases: list[RivalCase] = []
    trials: list[RivalTrial] = []
    runs: list[RivalRun] = []
    ratios: list[RivalRatio] = []


def ratios_of(runs: Sequence[RivalRun]) -> list[RivalRatio]:
    """Of every case that has a whole round."""
    ratios = []
    for requests, cache in dict.fromkeys((run.requests, run.cache_fraction) for run in runs):
        speeds = {
            (run.side, run.round): run.tokens_per_s
            for run in runs
            if (run.requests, run.cache_fraction) == (requests, cache)
        }
        rounds = [n for side, n in speeds if side == OURS and (THEIRS, n) in speeds]
        found = [speeds[OURS, n] / speeds[THEIRS, n] for n in rounds]
        if found:
            ratios.append(
                RivalRatio(
                    requests=requests,
                    cache_fraction=cache,
                    median=statistics.median(found),
                    min=min(found),
                    max=max(found),
                )
            )
    return ratios


def median(runs: Sequence[RivalRun], field: str) -> float:
    """Of a field over runs of one side and case."""
    return float(statistics.median(getattr(run, field) for run in runs))
