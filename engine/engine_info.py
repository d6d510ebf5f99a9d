"""EngineInfo, EngineStats, CacheChange: what an open engine says about itself."""

import msgspec


class EngineInfo(msgspec.Struct, frozen=True):
    """Constant after opening, as engine._native.Engine.info gives it."""

    n_layer: int
    n_embd: int
    n_expert: int
    n_expert_used: int
    n_vocab: int
    context: int
    record_bytes: int
    n_experts_total: int
    experts_total_bytes: int
    resident_bytes: int
    store: str
    weight_layout: str
    device: str
    n_threads: int
    chat_template: str | None
    bos_token: int
    eos_token: int
    add_bos: bool
    cache_slots: int
    cache_bytes: int
    min_cache_bytes: int


class EngineStats(msgspec.Struct, frozen=True):
    """Counters since opening.

    Attributes:
        prefetched: Experts read because they were predicted; `prefetch_used` of them were used in
            the same step, `wasted` are the others, those of the step in progress among them.
    """

    steps: int
    hits: int
    misses: int
    joined: int
    evicted: int
    prefetched: int
    prefetch_used: int
    wasted: int
    failed: int
    fetched_bytes: int
    cache_slots: int
    cache_in_use: int
    cache_bytes: int
    active_requests: int
    queued_requests: int
    dropped_records: int
    peak_bytes: int

    @property
    def hit_rate(self) -> float:
        """Share of needed experts that were resident; 0 before the first."""
        needed = self.hits + self.misses + self.joined
        return self.hits / needed if needed else 0.0


class CacheChange(msgspec.Struct, frozen=True):
    """The cache after a resize; `reason` says why it is not what was asked for, "" when it is."""

    cache_bytes: int
    cache_slots: int
    reason: str


class JobRow(msgspec.Struct, frozen=True):
    """One row of the Progress Table: where a request is in the current step."""

    request: int
    layer: int
    state: str
    missing: int
