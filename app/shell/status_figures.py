"""StatusFigures: a few numbers about now, from counters that only grow."""

from collections import deque

import msgspec

from engine.engine_info import EngineStats

SPAN_S = 3.0  # figures are of so much time


class Figures(msgspec.Struct, frozen=True):
    """Attributes:
    tokens_per_s: Over all replies.
    hit_rate: Share of needed experts that were resident; None while none is needed.
    read_bytes_per_s: What was read, pauses included.
    cache_bytes, cache_share: Memory of the expert cache; the share of it that is in use.
    active, queued: Requests.
    """

    tokens_per_s: float = 0.0
    hit_rate: float | None = None
    read_bytes_per_s: float = 0.0
    cache_bytes: int = 0
    cache_share: float = 0.0
    active: int = 0
    queued: int = 0


class _Sample(msgspec.Struct, frozen=True):
    at_s: float
    n_tokens: int
    stats: EngineStats


class StatusFigures:
    """Give it counters as they arrive; times are of any clock that goes on steadily."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()

    def clear(self) -> None:
        """Another engine counts from zero."""
        self._samples.clear()

    def add(self, at_s: float, n_tokens: int, stats: EngineStats) -> Figures:
        """The figures now; `n_tokens` counts all tokens that have arrived."""
        if self._samples and stats.steps < self._samples[-1].stats.steps:
            self.clear()
        self._samples.append(_Sample(at_s, n_tokens, stats))
        while len(self._samples) > 2 and self._samples[1].at_s < at_s - SPAN_S:
            self._samples.popleft()
        first = self._samples[0]
        span = max(1e-3, at_s - first.at_s)
        old = first.stats
        hits = stats.hits - old.hits
        needed = hits + stats.misses - old.misses + stats.joined - old.joined
        several = len(self._samples) > 1
        return Figures(
            tokens_per_s=(n_tokens - first.n_tokens) / span if several else 0.0,
            hit_rate=hits / needed if needed else None,
            read_bytes_per_s=(stats.fetched_bytes - old.fetched_bytes) / span if several else 0.0,
            cache_bytes=stats.cache_bytes,
            cache_share=stats.cache_in_use / max(1, stats.cache_slots),
            active=stats.active_requests,
            queued=stats.queued_requests,
        )
