"""Which types the matrices of a Q4_K_M file have, by the rules of llama.cpp's quantiser."""

import re
from collections.abc import Sequence

from engine.bench_models.tensor_types import TENSOR_TYPES
from tests.helpers.family_models import Tensor

# Where rows do not fill the blocks of the left type.
_FALLBACK = {"q4_K": "q5_0", "q5_K": "q5_1", "q6_K": "q8_0"}


def q4_k_m(tensors: Sequence[Tensor], n_layer: int) -> dict[str, str]:
    """Type of each tensor, by name: some layers have more bits for V and the down projection."""
    names = {tensor.name for tensor in tensors}
    types = {}
    for tensor in tensors:
        il, role = _parts(tensor.name)
        type = "q4_K"
        if role == "output" or (role == "token_embd" and "output.weight" not in names):
            type = "q6_K"
        elif role == "attn_qkv":
            type = "q5_K"
        elif role.startswith(("attn_v", "ffn_down")) and _has_more_bits(il, n_layer):
            type = "q6_K"
        if tensor.ne[0] % TENSOR_TYPES[type].block:
            type = _FALLBACK[type]
        types[tensor.name] = type
    return types


def _parts(name: str) -> tuple[int, str]:
    """Layer (-1: none) and role."""
    found = re.fullmatch(r"(?:blk\.(\d+)\.)?(.+?)(?:\.weight)?", name)
    assert found
    return int(found[1] or -1), found[2]


def _has_more_bits(il: int, n_layer: int) -> bool:
    eighth = n_layer // 8
    return il < eighth or il >= 7 * n_layer // 8 or (il - eighth) % 3 == 2
