"""EngineOptions: how a model is opened."""

from typing import Literal

import msgspec

from engine.cache_size import CacheSize
from engine.errors import InvalidRequestError
from engine.link_speed import LinkSpeed
from engine.runlog.prune import MAX_RUNS, MAX_TOTAL_BYTES

Store = Literal["pack", "gguf", "memory"]
STORES: tuple[Store, ...] = ("pack", "gguf", "memory")

# Of policies, as native.presets() has them; help texts need no native module.
PRESETS = (
    *("bevy", "lockstep-lfu", "lockstep-lru", "llama.cpp", "mixtral-offloading", "specmd"),
    *("finemoe", "promoe", "prescope", "bevy+prefetch"),
)

# The native engine's own bound (exec/open_model.cpp).
MAX_REQUESTS = 64

MIN_CONTEXT = 16


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults suit a laptop with a model larger than its memory.

    Attributes:
        store: Where experts are read from: an expert pack (built when needed; the model file itself
            when the disk is short), the model file in place, or host memory.
        pack_path: The pack to use; "" for its usual place.
        cache: Memory for experts.
        policy: One of PRESETS, or five names joined by "/".
        n_threads: 0 for all cores.
        link: Slows reads down, to emulate other disks.
        max_requests: Most requests in one step; more wait.
        context: Most tokens of one session.
        staged: Read into staging memory, then copy, as for a discrete GPU.
        run_log: Keep a run log in the data folder.
        keep_runs, keep_runs_bytes: Older run logs go when there are more, or when they take more.
        fault_seed: Tests: non-zero makes some reads fail, come short or slow.
    """

    store: Store = "pack"
    pack_path: str = ""
    cache: CacheSize = CacheSize(fraction=0.3)
    policy: str = "bevy"
    n_threads: int = 0
    n_readers: int = 8
    link: LinkSpeed = LinkSpeed()
    max_requests: int = 16
    context: int = 4096
    prefill_chunk: int = 512
    verify_reads: bool = False
    staged: bool = False
    run_log: bool = True
    keep_runs: int = MAX_RUNS
    keep_runs_bytes: int = MAX_TOTAL_BYTES
    fault_seed: int = 0

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("n_threads", self.n_threads, 0, 512),
            ("n_readers", self.n_readers, 1, 64),
            ("max_requests", self.max_requests, 1, MAX_REQUESTS),
            ("context", self.context, MIN_CONTEXT, 2**24),
            ("prefill_chunk", self.prefill_chunk, 1, 2**13),
            ("keep_runs", self.keep_runs, 1, 10**6),
            ("keep_runs_bytes", self.keep_runs_bytes, 0, 2**62),
        ):
            if not low <= value <= high:
                raise InvalidRequestError(f"{name} is {value}; it must be from {low} to {high}")
        if self.store not in STORES:
            raise InvalidRequestError(f"Store {self.store!r} is unknown: give {', '.join(STORES)}")


def usual_context(trained: int) -> int:
    """The default one, or what a model was `trained` for where that is less; 0: it is not known."""
    return within_training(EngineOptions().context, trained)


def within_training(context: int, trained: int) -> int:
    """`context`, or what a model was `trained` for where that is less; 0: it is not known.

    Never less than options can have: opening a model that was trained for less says so.
    """
    return max(MIN_CONTEXT, min(context, trained)) if trained > 0 else context
