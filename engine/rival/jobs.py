"""What a child process is asked to do, and what it answers; JSON between the two."""

from typing import Literal

import msgspec

from engine.cache_size import CacheSize
from engine.options import EngineOptions, Store

Streams = tuple[tuple[int, ...], ...]  # token ids of every request

Advice = Literal["normal", "random", "hugepage", "hugepage-random"]


class LlamaConfig(msgspec.Struct, frozen=True):
    """One way to run llama.cpp.

    Attributes:
        weights: "plain", as they lie in the file; "repack", CPU_REPACK for all matrices that it
            has kernels for; "repack-shared", for those that are not of experts: memory of its own
            for what every token needs, while experts stay in the file; "extra", llama.cpp's own
            choice of extra buffer types (AMX among them where the CPU has it).
        flash: Flash attention as llama.cpp chooses, or off.
        load: Map the file, or read it into memory of one's own.
        kv: One KV cache for all sequences, or one for each.
        advice: What Linux is told about the mapping before decoding (madvise): to read one page at
            a time, or 2 MiB, rather than as much as it would read ahead.
        read_ahead_kb: What Linux reads around a missed page, in KiB; 0: the disk's own setting.
    """

    weights: Literal["plain", "repack", "repack-shared", "extra"] = "plain"
    flash: Literal["auto", "off"] = "auto"
    load: Literal["mmap", "none"] = "mmap"
    kv: Literal["unified", "separate"] = "unified"
    advice: Advice = "normal"
    read_ahead_kb: int = 0

    def __str__(self) -> str:
        words = [f"{self.weights} weights", f"flash {self.flash}", f"{self.kv} KV"]
        if self.load == "mmap":
            words.append("mmap")
            words += [f"advice {self.advice}"] if self.advice != "normal" else []
            words += [f"read-ahead {self.read_ahead_kb} KiB"] if self.read_ahead_kb else []
        return ", ".join(words)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What both sides have in common; `context` is tokens of one sequence."""

    model: str
    n_requests: int
    n_threads: int
    context: int
    warm_up: int
    steps: int


class OursJob(msgspec.Struct, frozen=True, kw_only=True, tag="runahead"):
    """Runahead's engine, on prompts of a workload."""

    work: Work
    store: Store
    pack_path: str
    cache: CacheSize
    policy: str
    n_readers: int
    workload: str
    prompt_tokens: int
    seed: int

    @property
    def n_steps(self) -> int:
        """Of each request: they join one by one while others prefill, and leave so."""
        n_chunks = -(-self.prompt_tokens // EngineOptions().prefill_chunk)
        return self.work.warm_up + self.work.steps + (n_chunks + 1) * self.work.n_requests


class LlamaJob(msgspec.Struct, frozen=True, kw_only=True, tag="llama.cpp"):
    """llama.cpp, on the same prompts and the tokens that Runahead's engine went on with."""

    work: Work
    config: LlamaConfig
    prompts: Streams
    streams: Streams


Job = OursJob | LlamaJob


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One run: its measured steps only, but for the memory.

    Attributes:
        read_bytes: From disk per step; 0 where Linux does not count it.
        major_faults: Per step, pages that had to be read first.
        device: What computed.
        resident_bytes, cache_bytes: Ours: weights that stay, and slots.
        prompts, streams: Ours: token ids, and every request's tokens.
    """

    tokens_per_s: float
    steps: int
    read_bytes: float
    major_faults: float
    device: str
    resident_bytes: int = 0
    cache_bytes: int = 0
    prompts: Streams = ()
    streams: Streams = ()


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The child could not do it; a sentence."""

    reason: str


class Done(msgspec.Struct, frozen=True, tag=True):
    """The child's answer."""

    measured: Measured


Answer = Done | Refused
