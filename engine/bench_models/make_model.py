"""Writes a random GGUF of a real model's layer shape: what benchmarks and tests run on."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine._native import quantize
from engine.bench_models.errors import BenchModelError
from engine.bench_models.gguf_writer import (
    GgufWriter,
    Metadata,
    TensorSpec,
    atomic_file,
    f32,
    file_bytes,
    string,
    u32,
)
from engine.bench_models.network import FloatRows, Network, RowOrder, dynamics_like
from engine.bench_models.routing import Calibration
from engine.bench_models.shapes import Shape, shape_like
from engine.bench_models.surrogate import CALIBRATION_STEPS, measure
from engine.bench_models.tensor_types import TENSOR_TYPES, file_type_number, tensor_type
from engine.bench_models.vocabulary import Vocabulary, byte_vocabulary, copy_vocabulary

# (stage, bytes done, of how many) -> go on?
Progress = Callable[[str, int, int], bool]
Chunks = Iterator[NDArray[np.uint8]]

_CHUNK_BYTES = 16 << 20
_PROGRESS_EVERY_S = 0.2


class MadeModel(msgspec.Struct, frozen=True, kw_only=True):
    """What was written."""

    path: Path
    shape: Shape
    type: str
    seed: int
    n_vocab: int
    file_bytes: int
    expert_bytes: list[int]  # distinct sizes of one expert (gate, up and down)
    experts_total_bytes: int
    seconds: float  # writing took
    calibration: Calibration | None  # None: not asked for


def make_model(
    path: Path,
    *,
    like: str = "qwen3-30b-a3b",
    n_layer: int | None = None,
    type: str = "q4_0",
    vocab: Path | None = None,
    seed: int = 0,
    overwrite: bool = False,
    calibration: bool = False,
    progress: Progress | None = None,
    **sizes: int,
) -> MadeModel:
    """Write a model with random weights, atomically: `path` is whole or untouched.

    `like` is a name of SHAPES, `type` one of FILE_TYPES, `vocab` a GGUF whose vocabulary is copied
    (else single bytes), `sizes` replace fields of the shape. Equal arguments give equal bytes.
    `calibration` measures afterwards how such a model routes (about half a minute). `progress`
    gets the stages "write" (bytes; False leaves no file) and "calibrate" (steps; False skips it).
    Raises BenchModelError.
    """
    started = time.monotonic()
    if n_layer is not None:
        sizes["n_layer"] = n_layer
    shape = shape_like(like, **sizes)
    file_type_number(type)
    if not 0 <= seed < 1 << 32:
        raise BenchModelError("invalid", f"seed is {seed}, not 0 to {(1 << 32) - 1}")
    if path.exists() and not overwrite:
        raise BenchModelError("exists", f"{path} exists already; remove it or choose another name")
    vocabulary = byte_vocabulary() if vocab is None else copy_vocabulary(vocab)
    network = Network(shape, dynamics_like(like), seed)
    plan = _Plan(shape, type, vocabulary, network)
    metadata = plan.metadata() | vocabulary.metadata
    total = file_bytes(metadata, plan.tensors)
    with atomic_file(path, total) as file:
        writer = GgufWriter(file, metadata, plan.tensors)
        meter = _Meter(progress, "write", sum(t.n_bytes for t in plan.tensors))
        for tensor in plan.tensors:
            writer.write(tensor.name, plan.chunks(tensor), meter.advance)
    seconds = time.monotonic() - started
    measured = None
    if calibration:
        measured = _measured(network, progress)
    expert_bytes = plan.expert_bytes()
    return MadeModel(
        path=path,
        shape=shape,
        type=type,
        seed=seed,
        n_vocab=vocabulary.n_vocab,
        file_bytes=total,
        expert_bytes=sorted(set(expert_bytes)),
        experts_total_bytes=sum(expert_bytes) * shape.n_expert,
        seconds=seconds,
        calibration=measured,
    )


def _measured(network: Network, progress: Progress | None) -> Calibration | None:
    try:
        return measure(network, _Meter(progress, "calibrate", CALIBRATION_STEPS).advance)
    except BenchModelError as e:
        if e.code == "cancelled":
            return None
        raise


class _Meter:
    """Tells how far a stage is, a few times a second, and stops it when asked to."""

    def __init__(self, progress: Progress | None, stage: str, total: int) -> None:
        self._progress = progress
        self._stage = stage
        self._total = total
        self._done = 0
        self._told_at = float("-inf")

    def advance(self, n: int) -> None:
        self._done += n
        now = time.monotonic()
        if self._progress is None or (
            self._done < self._total and now - self._told_at < _PROGRESS_EVERY_S
        ):
            return
        self._told_at = now
        if not self._progress(self._stage, self._done, self._total):
            raise BenchModelError("cancelled", f"cancelled ({self._stage})")


class _Plan:
    """The tensors of a model in file order, and the bytes of each."""

    def __init__(
        self, shape: Shape, file_type: str, vocabulary: Vocabulary, network: Network
    ) -> None:
        self._shape = shape
        self._file_type = file_type
        self._vocabulary = vocabulary
        self._network = network
        self._banks: dict[str, NDArray[np.uint8]] = {}
        self.tensors = [
            self._matrix("token_embd", -1, shape.n_embd, vocabulary.n_vocab),
            self._vector("output_norm", -1, shape.n_embd),
            self._matrix("output", -1, shape.n_embd, vocabulary.n_vocab),
            *(t for il in range(shape.n_layer) for t in self._layer(il)),
        ]

    def metadata(self) -> Metadata:
        """All keys but the vocabulary's."""
        s = self._shape
        return {
            "general.architecture": string("qwen3moe"),
            "general.type": string("model"),
            "general.name": string(f"Random weights like {s.name}"),
            "general.file_type": u32(file_type_number(self._file_type)),
            "general.quantization_version": u32(2),
            "qwen3moe.block_count": u32(s.n_layer),
            "qwen3moe.context_length": u32(s.context),
            "qwen3moe.embedding_length": u32(s.n_embd),
            "qwen3moe.feed_forward_length": u32(s.n_ff),
            "qwen3moe.attention.head_count": u32(s.n_head),
            "qwen3moe.attention.head_count_kv": u32(s.n_head_kv),
            "qwen3moe.attention.key_length": u32(s.head_dim),
            "qwen3moe.attention.value_length": u32(s.head_dim),
            "qwen3moe.attention.layer_norm_rms_epsilon": f32(s.rms_eps),
            "qwen3moe.rope.freq_base": f32(s.rope_base),
            "qwen3moe.expert_count": u32(s.n_expert),
            "qwen3moe.expert_used_count": u32(s.n_expert_used),
            "qwen3moe.expert_feed_forward_length": u32(s.n_ff_exp),
        }

    def expert_bytes(self) -> list[int]:
        """Bytes of one expert of each layer."""
        sizes = [0] * self._shape.n_layer
        for tensor in self.tensors:
            if tensor.name.endswith("_exps.weight"):
                sizes[_place(tensor.name)[0]] += tensor.n_bytes // self._shape.n_expert
        return sizes

    def chunks(self, tensor: TensorSpec) -> Chunks:
        """The bytes of a tensor, in pieces of bounded size."""
        network = self._network
        n_vocab = self._vocabulary.n_vocab
        il, role = _place(tensor.name)
        match role:
            case "token_embd":
                yield from self._quantised(tensor, network.embeddings(n_vocab))
            case "output":
                rows = network.output(n_vocab, self._vocabulary.unlikely)
                yield from self._quantised(tensor, rows)
            case "output_norm":
                yield from self._quantised(tensor, network.output_norm()[None])
            case "attn_norm":
                yield from self._quantised(tensor, network.attn_norm()[None])
            case "attn_q_norm" | "attn_k_norm":
                yield from self._quantised(tensor, network.head_norm()[None])
            case "ffn_norm":
                yield from self._quantised(tensor, network.ffn_norm(il)[None])
            case "ffn_gate_inp":
                yield from self._quantised(tensor, network.router(il))
            case "attn_output":
                yield from self._quantised(tensor, network.attn_output(il))
            case "attn_q" | "attn_k" | "attn_v":
                order = network.bank_order(role, il, tensor.ne[1])
                yield from self._composed(self._bank(tensor.type.name), [order])
            case "ffn_gate_exps" | "ffn_up_exps":
                orders = (
                    network.bank_order(role, il, tensor.ne[1], e)
                    for e in range(self._shape.n_expert)
                )
                yield from self._composed(self._bank(tensor.type.name), orders)
            case "ffn_down_exps":
                bank = quantize(tensor.type.name, network.down_bank(il))
                orders = (network.down_order(il, e) for e in range(self._shape.n_expert))
                yield from self._composed(bank, orders)
            case _:
                raise AssertionError(tensor.name)

    def _layer(self, il: int) -> list[TensorSpec]:
        s = self._shape
        q, kv = s.n_head * s.head_dim, s.n_head_kv * s.head_dim
        return [
            self._vector("attn_norm", il, s.n_embd),
            self._matrix("attn_q", il, s.n_embd, q),
            self._matrix("attn_k", il, s.n_embd, kv),
            self._matrix("attn_v", il, s.n_embd, kv),
            self._vector("attn_q_norm", il, s.head_dim),
            self._vector("attn_k_norm", il, s.head_dim),
            self._matrix("attn_output", il, q, s.n_embd),
            self._vector("ffn_norm", il, s.n_embd),
            TensorSpec(_name("ffn_gate_inp", il), TENSOR_TYPES["f32"], (s.n_embd, s.n_expert)),
            self._matrix("ffn_gate_exps", il, s.n_embd, s.n_ff_exp, s.n_expert),
            self._matrix("ffn_up_exps", il, s.n_embd, s.n_ff_exp, s.n_expert),
            self._matrix("ffn_down_exps", il, s.n_ff_exp, s.n_embd, s.n_expert),
        ]

    def _vector(self, role: str, il: int, n: int) -> TensorSpec:
        return TensorSpec(_name(role, il), TENSOR_TYPES["f32"], (n,))

    def _matrix(self, role: str, il: int, *ne: int) -> TensorSpec:
        type = tensor_type(self._file_type, self._shape, role, il, ne[0])
        return TensorSpec(_name(role, il), type, ne)

    def _quantised(self, tensor: TensorSpec, rows: FloatRows) -> Chunks:
        yield quantize(tensor.type.name, rows)

    def _bank(self, type: str) -> NDArray[np.uint8]:
        if type not in self._banks:
            self._banks[type] = quantize(type, self._network.bank())
        return self._banks[type]

    def _composed(self, bank: NDArray[np.uint8], orders: Iterable[RowOrder]) -> Chunks:
        """Matrices made of a bank's rows, several to a chunk."""
        pending: list[RowOrder] = []
        n_rows = 0
        for order in orders:
            pending.append(order)
            n_rows += len(order)
            if n_rows * bank.shape[1] >= _CHUNK_BYTES:
                yield bank[np.concatenate(pending)]
                pending, n_rows = [], 0
        if pending:
            yield bank[np.concatenate(pending)]


def _name(role: str, il: int) -> str:
    return f"{role}.weight" if il < 0 else f"blk.{il}.{role}.weight"


def _place(name: str) -> tuple[int, str]:
    """The layer (-1: none) and the role of a tensor."""
    parts = name.split(".")
    return (int(parts[1]), parts[2]) if parts[0] == "blk" else (-1, parts[0])
