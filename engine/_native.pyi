"""Runahead's native engine: scheduling, caching and fetching experts, graphs on ggml."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

class NativeError(Exception):
    """args: (code, message).

    code is bad_file, unsupported, io, no_space, no_memory, invalid or cancelled.
    """

# What a running job reports: (stage, bytes or items done, of how many) -> go on? False cancels with
# NativeError("cancelled", ...). Called at most a few times a second, with the GIL held.
Progress = Callable[[str, int, int], bool]

RECORD_DTYPE: list[tuple[str, str]]  # fields of a trace record, for numpy.dtype
EVENTS: list[str]  # Record.event -> "step", "front", "group", ... in the order of trace/record.h

def quantize(type: str, rows: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Quantise float32 rows [n_rows, n_per_row] to bytes [n_rows, row_bytes] of a ggml type."""

def inspect(path: str) -> dict[str, Any]:
    """What a GGUF holds, read defensively.

    {"path", "files": [{"path", "bytes"}], "architecture", "name", "supported": bool,
     "reason": str ("" when supported), "n_layer", "n_moe_layer", "n_embd", "n_expert",
     "n_expert_used", "context_length", "n_vocab",
     "expert_bytes": [distinct bytes of one expert's record], "experts_per_class": [experts that
     can take each other's slots], "experts_total_bytes",
     "other_bytes", "types": {type name: bytes}, "chat_template": str | None, "fingerprint": int,
     "metadata": [(key, text)], "tensors": [(name, type, [ne...], bytes)]}
    """

# Raised whenever a policy comes to decide otherwise on the same routing.
POLICY_REVISION: int

def presets() -> list[tuple[str, str]]:
    """(name, canonical policy text) of every preset."""

def parse_policy(text: str) -> str:
    """The canonical five names of a preset or policy text."""

def write_pack(
    model_path: str, pack_path: str, layout: str = "repacked", progress: Progress | None = None
) -> dict[str, Any]:
    """Write the expert pack of a model ("repacked" for this CPU, or "plain"); atomic.

    {"path", "bytes", "experts", "layout": what it became}
    """

def check_pack(
    pack_path: str, model_path: str, verify: bool, progress: Progress | None = None
) -> str:
    """Why the pack cannot serve the model; "" when it is whole and belongs to it.

    verify: every checksum, too.
    """

def parse_simulated_policy(text: str) -> str:
    """As parse_policy; the eviction may also be "belady", which only a simulation can have."""

def simulate(
    experts: NDArray[np.int16],
    *,
    n_expert: int,  # per layer
    probabilities: NDArray[np.floating[Any]] | None = None,
    lookahead: NDArray[np.floating[Any]] | None = None,
    policy: str,
    slots: int,
    record_bytes: int,
    front_ms: float = 0.0,
    front_request_ms: float = 0.0,
    group_ms: float = 0.0,
    expert_ms: float = 0.0,
    job_ms: float = 0.0,
    head_ms: float = 0.0,
    head_request_ms: float = 0.0,
    link_bytes_per_s: float,
    link_in_order: bool = False,
    link_latency_ms: float = 0.0,
    n_readers: int = 8,
    interference: float = 0.0,
    timeline: bool = False,
) -> dict[str, Any]:
    """Run the engine's scheduler and cache over a routing trace, on a virtual clock.

    experts [n_step, n_request, n_layer, n_used] (first number -1: the request takes no part in the
    step), probabilities [n_step, n_request, n_layer, n_expert] and lookahead [n_step, n_request,
    n_layer, n_lookahead, n_expert], both float16 or float32, C-contiguous, not to be written
    meanwhile. Costs as in sim/cost_model.h.

    {"step_ms", "compute_ms", "link_ms", "both_ms": float64[n_step], "requests", "fetched"
     (prefetches included), "prefetched", "wasted", "hit", "joined": int32[n_step],
     "group_sizes": int32[n_step, n_request + 1], groups by their number of jobs,
     "records": the timeline as bytes of RECORD_DTYPE; empty without `timeline`}
    Raises NativeError("invalid").
    """

class Engine:
    """One open model. Thread-safe; blocking calls release the GIL."""

    def __init__(
        self,
        model_path: str,
        *,
        store: str = "pack",  # pack | gguf | memory
        pack_path: str = "",  # for "pack": an existing pack
        cache_bytes: int = 0,  # expert slots; 0: all experts
        policy: str = "bevy",
        n_threads: int = 0,  # 0: all cores
        n_readers: int = 8,
        link_bytes_per_s: int = 0,  # 0: not paced
        max_requests: int = 16,
        context: int = 4096,  # most tokens of one session
        prefill_chunk: int = 512,
        verify_reads: bool = False,
        staged: bool = False,  # as on a discrete GPU: read to staging memory, then copy
        fault_seed: int = 0,  # tests: non-zero makes some reads fail, short or slow
        progress: Progress | None = None,
    ) -> None: ...
    def info(self) -> dict[str, Any]:
        """What the open model is; constant, but for cache_slots and cache_bytes.

        architecture, n_layer, n_moe_layer (those with experts), n_embd, n_expert, n_expert_used,
        n_vocab, context, record_bytes (largest class), n_experts_total, experts_total_bytes,
        resident_bytes (weights that always stay), store, weight_layout, device, n_threads,
        n_readers, chat_template (str or None), bos_token, eos_token, add_bos, cache_slots,
        cache_bytes, min_cache_bytes.
        """

    def tokenize(
        self, text: str, add_special: bool = True, parse_special: bool = True
    ) -> list[int]: ...
    def token_piece(self, token: int, special: bool = False) -> bytes: ...
    def is_end(self, token: int) -> bool: ...
    def submit(
        self,
        tokens: list[int],
        *,
        session: int = -1,  # -1: a session of its own, closed at the end
        max_tokens: int = 128,
        seed: int = 0,
        temperature: float = 0.0,  # 0: greedy
        top_k: int = 40,
        top_p: float = 0.95,
        min_p: float = 0.05,
        repeat_penalty: float = 1.0,
        grammar: str = "",  # GBNF
        ignore_end: bool = False,
        forced: list[int] = ...,  # tests: take these tokens instead of sampled ones
        keep_logits: bool = False,  # tests: keep the logits of every position
    ) -> int:
        """Queue a request; its id.

        Raises NativeError("invalid") when prompt + max_tokens exceed the context.
        """

    def open_session(self) -> int: ...
    def close_session(self, session: int) -> None: ...
    def cancel(self, request: int) -> None: ...
    def wait(self, timeout_s: float) -> bool:
        """Until poll() has something, or the time is over; True when it has."""

    def poll(self) -> list[tuple[Any, ...]]:
        """All events since the last call, in order:

        (request, "prefill", tokens done, of how many)
        (request, "token", token id, piece: bytes)
        (request, "end", reason, detail)   reason: stop | length | cancelled | error;
                                           detail: text, "" unless error
        (-1, "notice", text)               something a person should know, e.g. a fallback to waves
        """

    def take_logits(self, request: int) -> NDArray[np.float32]:
        """[positions, n_vocab] of a finished keep_logits request.

        Every prompt position, then every decode step.
        """

    def set_cache(self, bytes: int) -> dict[str, Any]:
        """Resize the expert cache, also while requests run.

        {"cache_bytes", "cache_slots", "reason": "" or why clamped}
        """

    def set_policy(self, policy: str, cold: bool = False) -> None:
        """From the next step on; cold empties the cache and forgets use counts.

        Raises NativeError("invalid").
        """

    def set_link(self, bytes_per_s: int) -> None: ...
    def stats(self) -> dict[str, Any]:
        """Counters since opening.

        steps, hits, misses, joined, evicted, prefetched, prefetch_used (in the step of the
        prefetch), wasted (all others), failed, fetched_bytes, cache_slots, cache_in_use,
        cache_bytes, active_requests, queued_requests, dropped_records, peak_bytes.
        """

    def drain(self) -> tuple[bytes, int]:
        """Trace records since the last call, as bytes of RECORD_DTYPE; how many were dropped."""

    def record_routing(self, n_lookahead: int) -> None:
        """Keep what the routers of decode steps say; -1: off. Forgets what has not been taken.

        The routers of the next n_lookahead layers are recorded, too, reading what the layer's own
        router read.
        """

    def take_routing(self) -> dict[str, Any]:
        """What was kept since the last call, one row per step, request and layer.

        step, request, layer: int32 [n]; experts: int32 [n, n_expert_used]; probabilities: float32
        [n, n_expert]; lookahead: float32 [n, n_lookahead, n_expert], 0 beyond the last layer;
        dropped: int, rows that found no room (512 MiB).
        """

    def progress_table(self) -> list[tuple[int, int, str, int]]:
        """The current step: (request, layer, state, missing experts) of every request in it.

        state is routing, blocked, ready, running or done.
        """

    def close(self) -> None: ...
