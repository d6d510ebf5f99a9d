"""Tiny random GGUFs of any family, with the tensor names and metadata that real files have."""

import atexit
import hashlib
import struct
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine._native import quantize
from engine.bench_models.gguf_writer import (
    GgufWriter,
    Metadata,
    TensorSpec,
    Value,
    boolean,
    f32,
    i32,
    i32s,
    string,
    u32,
)
from engine.bench_models.tensor_types import TENSOR_TYPES
from engine.bench_models.tokenizer import N_VOCAB, byte_tokenizer

_U16 = 2  # GGUF's number of this type

Setting = bool | int | float | str | Sequence[int] | Sequence[bool]


class Tensor(msgspec.Struct, frozen=True):
    """Values of mean `mean` and deviation `spread`; ne[0] is the length of a row, as in ggml."""

    name: str
    ne: tuple[int, ...]
    spread: float
    mean: float = 0.0
    fixed: bool = False  # F32 whatever the file's types are


def vector(name: str, n: int, mean: float = 1.0, spread: float = 0.2) -> Tensor:
    """A norm, a bias, a scale."""
    return Tensor(name, (n,), spread, mean, True)


def bias(name: str, *ne: int) -> Tensor:
    """Biases, in F32 also where they are per expert."""
    return Tensor(name, ne, 0.3, 0.0, True)


def matrix(name: str, *ne: int, gain: float = 1.0) -> Tensor:
    """Weights that keep the size of what they multiply, times `gain`."""
    return Tensor(name, ne, gain * ne[0] ** -0.5)


def attention(
    il: int, n_embd: int, n_head: int, n_head_kv: int, head_dim: int, biases: bool = False
) -> list[Tensor]:
    """Q, K, V and output of a layer."""
    p = f"blk.{il}."
    widths = {"q": n_head * head_dim, "k": n_head_kv * head_dim, "v": n_head_kv * head_dim}
    tensors = [matrix(f"{p}attn_{name}.weight", n_embd, n) for name, n in widths.items()]
    tensors.append(matrix(f"{p}attn_output.weight", n_head * head_dim, n_embd))
    if biases:
        tensors += [bias(f"{p}attn_{name}.bias", n) for name, n in widths.items()]
    return tensors


def gated_ffn(il: int, n_embd: int, n_ff: int, suffix: str = "") -> list[Tensor]:
    """A dense FFN, or a shared expert."""
    return [
        matrix(f"blk.{il}.ffn_gate{suffix}.weight", n_embd, n_ff, gain=1.5),
        matrix(f"blk.{il}.ffn_up{suffix}.weight", n_embd, n_ff),
        matrix(f"blk.{il}.ffn_down{suffix}.weight", n_ff, n_embd),
    ]


def experts(il: int, n_embd: int, n_ff: int, n_expert: int, fused: bool = False) -> list[Tensor]:
    """Router and experts of a layer."""
    p = f"blk.{il}."
    gates = (
        [matrix(f"{p}ffn_gate_up_exps.weight", n_embd, 2 * n_ff, n_expert, gain=1.5)]
        if fused
        else [
            matrix(f"{p}ffn_gate_exps.weight", n_embd, n_ff, n_expert, gain=1.5),
            matrix(f"{p}ffn_up_exps.weight", n_embd, n_ff, n_expert),
        ]
    )
    router = matrix(f"{p}ffn_gate_inp.weight", n_embd, n_expert, gain=2.0)
    return [
        Tensor(router.name, router.ne, router.spread, fixed=True),
        *gates,
        matrix(f"{p}ffn_down_exps.weight", n_ff, n_embd, n_expert),
    ]


def head(n_embd: int, tied: bool = False, spread: float = 1.0) -> list[Tensor]:
    """Embedding (of deviation `spread`), output norm and output."""
    tensors = [
        Tensor("token_embd.weight", (n_embd, N_VOCAB), spread),
        vector("output_norm.weight", n_embd),
    ]
    if not tied:
        tensors.append(matrix("output.weight", n_embd, N_VOCAB, gain=2.0))
    return tensors


def qk_norms(il: int, n_q: int, n_k: int) -> list[Tensor]:
    """Norms of Q and K: of a head each, or of all their heads."""
    return [
        vector(f"blk.{il}.attn_q_norm.weight", n_q),
        vector(f"blk.{il}.attn_k_norm.weight", n_k),
    ]


def usual_layer(
    il: int,
    n_embd: int,
    n_head: int,
    n_head_kv: int,
    n_expert: int,
    n_ff: int,
    biases: bool = False,
    qk_norm: int = 0,
) -> list[Tensor]:
    """Attention and experts, each behind its norm; `qk_norm` is the length of Q's and K's norms."""
    return [
        vector(f"blk.{il}.attn_norm.weight", n_embd),
        *attention(il, n_embd, n_head, n_head_kv, n_embd // n_head, biases),
        *(qk_norms(il, qk_norm, qk_norm) if qk_norm else []),
        vector(f"blk.{il}.ffn_norm.weight", n_embd),
        *experts(il, n_embd, n_ff, n_expert),
    ]


def draft_ends(il: int, n_embd: int) -> list[Tensor]:
    """What a layer that drafts tokens has beside the parts of other layers."""
    p = f"blk.{il}.nextn."
    return [
        matrix(f"{p}eh_proj.weight", 2 * n_embd, n_embd),
        vector(f"{p}enorm.weight", n_embd),
        vector(f"{p}hnorm.weight", n_embd),
    ]


def usual_settings(
    n_layer: int,
    n_embd: int,
    n_head: int,
    n_head_kv: int | Sequence[int],
    n_expert: int,
    n_expert_used: int,
) -> dict[str, Setting]:
    """The sizes that every family's files tell."""
    return {
        "block_count": n_layer,
        "context_length": 4096,
        "embedding_length": n_embd,
        "attention.head_count": n_head,
        "attention.head_count_kv": n_head_kv,
        "expert_count": n_expert,
        "expert_used_count": n_expert_used,
    }


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="runahead-families-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def write_model(
    architecture: str,
    settings: dict[str, Setting],
    tensors: Sequence[Tensor],
    type: str = "f32",
    expert_type: str = "",
    vocabulary: Metadata | None = None,
    types: Mapping[str, str] | None = None,
    split_at: str = "",
) -> Path:
    """The file, written once. `settings` are keys below the architecture's name.

    Matrices are of `type`, those of experts of `expert_type` (else the same), those that `types`
    names of what it says. `vocabulary` is that of single bytes unless another is given. With
    `split_at` the model has two files, this tensor the first of the second; the path is the first.
    """
    metadata: Metadata = {
        "general.architecture": string(architecture),
        "general.type": string("model"),
        "general.name": string(f"Random {architecture}"),
        **{f"{architecture}.{key}": _value(value) for key, value in settings.items()},
        **(vocabulary or byte_tokenizer()),
    }
    specs = [
        TensorSpec(t.name, TENSOR_TYPES[_type(t, type, expert_type, types or {})], t.ne)
        for t in tensors
    ]
    digest = hashlib.sha256(repr((metadata, specs, tensors, split_at)).encode()).hexdigest()[:16]
    name = f"{architecture}-{digest}"
    if not split_at:
        return _write_file(_folder() / f"{name}.gguf", metadata, specs, tensors)
    cut = [tensor.name for tensor in tensors].index(split_at)
    paths = []
    for no, part in enumerate((slice(cut), slice(cut, None))):
        split: Metadata = {
            "split.no": Value(_U16, struct.pack("<H", no)),
            "split.count": Value(_U16, struct.pack("<H", 2)),
            "split.tensors.count": i32(len(specs)),
        }
        path = _folder() / f"{name}-{no + 1:05}-of-00002.gguf"
        in_file = split if no else metadata | split
        paths.append(_write_file(path, in_file, specs[part], tensors[part]))
    return paths[0]


def _write_file(
    path: Path, metadata: Metadata, specs: Sequence[TensorSpec], tensors: Sequence[Tensor]
) -> Path:
    if path.exists():
        return path
    with path.open("wb") as file:
        writer = GgufWriter(file, metadata, specs)
        for tensor, spec in zip(tensors, specs, strict=True):
            writer.write(tensor.name, [_bytes(tensor, spec)], lambda n: None)
    return path


def _type(tensor: Tensor, type: str, expert_type: str, types: Mapping[str, str]) -> str:
    if tensor.fixed:
        return "f32"
    return types.get(tensor.name) or (
        expert_type if expert_type and "_exps." in tensor.name else type
    )


def _bytes(tensor: Tensor, spec: TensorSpec) -> NDArray[np.uint8]:
    seed = int.from_bytes(hashlib.sha256(tensor.name.encode()).digest()[:8], "little")
    n_rows = int(np.prod(tensor.ne[1:]))
    values = np.random.default_rng(seed).standard_normal((n_rows, tensor.ne[0]), dtype=np.float32)
    # The largest values would make attention and routing depend on single features.
    values = np.clip(values, -3, 3) * np.float32(tensor.spread) + np.float32(tensor.mean)
    return quantize(spec.type.name, values)


def _value(value: Setting) -> Value:
    if isinstance(value, bool):
        return boolean(value)
    if isinstance(value, int):
        return u32(value)
    if isinstance(value, float):
        return f32(value)
    if isinstance(value, str):
        return string(value)
    return i32s([int(v) for v in value])
