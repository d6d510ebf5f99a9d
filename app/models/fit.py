"""Fit: what a model will take of this computer's memory, worked out before it is loaded.

Everything that is counted is shown, so that a person can see why the answer is what it is. KV
caches grow with the chats, so there are two sums: what loading takes, and what is taken when every
chat is as long as the context allows.
"""

from typing import Literal

import msgspec

from app.models.machine_memory import MachineMemory
from engine.model_info import ModelInfo
from engine.options import EngineOptions

# Of the engine's process apart from weights, slots and KV caches, rounded up from what was measured
# (90 MB at opening, 57 MB more while 4 chunks of 512 tokens of n_embd 2048 were prefilled).
PROCESS_BYTES = 120 << 20
VOCABULARY_BYTES = 512  # per token that the model knows
_SCRATCH_PER_TOKEN = 16  # floats per n_embd and token of a prefill chunk
_F32_BYTES = 4
# KV caches start with room for so many tokens (native/exec/kv_cache.h).
_KV_BUCKET = 256

Verdict = Literal["fits", "tight", "over"]


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes, by what takes them.

    Attributes:
        weights: Always resident.
        cache: Experts in slots.
        copy: All experts again, when they are kept in host memory instead of being read.
        work: The process and its scratch memory.
        kv_start, kv_full: KV caches when chats begin, and when they fill the context.
        kv_known: False when the file does not say how large they become.
    """

    weights: int
    cache: int
    copy: int
    work: int
    kv_start: int
    kv_full: int
    kv_known: bool = True

    @property
    def at_start(self) -> int:
        """What loading takes."""
        return self.weights + self.cache + self.copy + self.work + self.kv_start

    @property
    def in_full(self) -> int:
        """What is taken when every chat fills the context."""
        return self.at_start - self.kv_start + self.kv_full


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """The answer.

    Attributes:
        verdict: "fits" even with full chats; "tight": loads, but full chats would not leave the
            system its share; "over": loading alone takes more than is available.
        available: What may be taken, counting what an open model gives back.
        spare: Of `available`, what should stay free.
        minimum: The smallest cache that one request runs with.
        recommended: The largest cache that fits with full chats; `minimum` when none does.
    """

    verdict: Verdict
    needs: Needs
    total: int
    available: int
    spare: int
    minimum: int
    recommended: int

    @property
    def lacking(self) -> int:
        """Bytes by which loading exceeds what is available; 0 when it does not."""
        return max(0, self.needs.at_start - self.available)


def needs_of(info: ModelInfo, options: EngineOptions, kv_per_token: int | None) -> Needs:
    """What the model takes with these options."""
    cache = options.cache.bytes_of(info.experts_total_bytes)
    per_token = kv_per_token or 0
    start = min(options.context, _KV_BUCKET)
    scratch = options.prefill_chunk * info.n_embd * _SCRATCH_PER_TOKEN * _F32_BYTES
    return Needs(
        weights=info.other_bytes,
        cache=max(minimum_cache(info), cache),
        copy=info.experts_total_bytes if options.store == "memory" else 0,
        work=PROCESS_BYTES + VOCABULARY_BYTES * info.n_vocab + scratch,
        kv_start=per_token * start * options.max_requests,
        kv_full=per_token * options.context * options.max_requests,
        kv_known=kv_per_token is not None,
    )


def fit(
    info: ModelInfo,
    options: EngineOptions,
    kv_per_token: int | None,
    memory: MachineMemory,
    given_back: int = 0,
) -> Fit:
    """Whether it will fit; `given_back` is what the model that is open now will free."""
    needs = needs_of(info, options, kv_per_token)
    available = min(memory.total, memory.available + given_back)
    spare = memory.spare
    if needs.at_start > available:
        verdict: Verdict = "over"
    elif needs.in_full > available - spare:
        verdict = "tight"
    else:
        verdict = "fits"
    minimum = minimum_cache(info)
    room = available - spare - (needs.in_full - needs.cache)
    return Fit(
        verdict=verdict,
        needs=needs,
        total=memory.total,
        available=available,
        spare=spare,
        minimum=minimum,
        recommended=max(minimum, min(info.experts_total_bytes, room)),
    )


def minimum_cache(info: ModelInfo) -> int:
    """Room for the experts of one token in one layer, of every kind of layer."""
    return min(info.experts_total_bytes, sum(info.expert_bytes) * info.n_expert_used)
