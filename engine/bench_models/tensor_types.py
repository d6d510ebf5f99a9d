"""Which tensor gets which type, by the rules of llama.cpp's quantiser (src/llama-quant.cpp)."""

import msgspec

from engine.bench_models.errors import BenchModelError
from engine.bench_models.shapes import Shape


class TensorType(msgspec.Struct, frozen=True):
    """A ggml type: its name, number in a GGUF, and block of `block` weights in `block_bytes`."""

    name: str
    number: int
    block: int
    block_bytes: int

    def row_bytes(self, n: int) -> int:
        """Bytes of a row of n weights; n is a multiple of the block."""
        return n // self.block * self.block_bytes


TENSOR_TYPES = {
    t.name: t
    for t in (
        TensorType("f32", 0, 1, 4),
        TensorType("f16", 1, 1, 2),
        TensorType("bf16", 30, 1, 2),
        TensorType("q4_0", 2, 32, 18),
        TensorType("q5_0", 6, 32, 22),
        TensorType("q5_1", 7, 32, 24),
        TensorType("q8_0", 8, 32, 34),
        TensorType("q4_K", 12, 256, 144),
        TensorType("q5_K", 13, 256, 176),
        TensorType("q6_K", 14, 256, 210),
        TensorType("iq4_nl", 20, 32, 18),
        TensorType("mxfp4", 39, 32, 17),
    )
}

# File type -> general.file_type; the type of most tensors, of the output, of all but the experts.
_FILE_TYPES = {
    "f32": (0, "f32", "f32", ""),
    "f16": (1, "f16", "f16", ""),
    "bf16": (32, "bf16", "bf16", ""),
    "q4_0": (2, "q4_0", "q6_K", ""),
    "q8_0": (7, "q8_0", "q8_0", ""),
    "q4_k_m": (15, "q4_K", "q6_K", ""),
    "q6_k": (18, "q6_K", "q6_K", ""),
    "iq4_nl": (25, "iq4_nl", "q6_K", ""),
    "mxfp4": (38, "mxfp4", "q8_0", "q8_0"),
}
FILE_TYPES = tuple(_FILE_TYPES)

# Where rows do not fill the blocks of the left type.
_FALLBACK = {"q4_K": "q5_0", "q5_K": "q5_1", "q6_K": "q8_0"}


def file_type_number(file_type: str) -> int:
    """general.file_type. Raises BenchModelError("invalid") for an unknown name."""
    if file_type not in _FILE_TYPES:
        raise BenchModelError(
            "invalid", f"unknown type '{file_type}'; known are {', '.join(FILE_TYPES)}"
        )
    return _FILE_TYPES[file_type][0]


def tensor_type(file_type: str, shape: Shape, role: str, il: int, n_per_row: int) -> TensorType:
    """The type of a matrix with rows of n_per_row weights.

    `role` is the tensor's name without "blk.N." and ".weight"; il its layer (-1: none).
    """
    file_type_number(file_type)
    _, main, output, others = _FILE_TYPES[file_type]
    name = main
    if role == "output":
        name = output
    elif others and not role.endswith("_exps"):
        name = others
    elif file_type == "q4_k_m" and role in ("attn_v", "ffn_down_exps"):
        if _gets_more_bits(il, shape.n_layer):
            name = "q6_K"
    elif (file_type == "iq4_nl" and role == "attn_v" and shape.n_head >= 4 * shape.n_head_kv) or (
        file_type == "iq4_nl" and role == "ffn_down_exps" and il < shape.n_layer // 8
    ):
        name = "q5_K"
    if n_per_row % TENSOR_TYPES[name].block:
        name = _FALLBACK.get(name, name)
    if n_per_row % TENSOR_TYPES[name].block:
        name = "f16"
    return TENSOR_TYPES[name]


def _gets_more_bits(il: int, n_layer: int) -> bool:
    eighth = n_layer // 8
    return il < eighth or il >= 7 * n_layer // 8 or (il - eighth) % 3 == 2
