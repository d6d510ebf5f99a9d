"""Families that route as DeepSeek V3 began to, over attention of the usual kind.

bailingmoe2, dots1, ernie4_5-moe, glm4moe, minimax-m2.
"""

from pathlib import Path

import msgspec
import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    Setting,
    Tensor,
    attention,
    bias,
    draft_ends,
    experts,
    gated_ffn,
    head,
    matrix,
    qk_norms,
    usual_settings,
    vector,
    write_model,
)

N_EMBD, N_LAYER, N_HEAD, HEAD_DIM, N_EXPERT, N_FF, N_DENSE = 128, 4, 4, 32, 8, 64, 96


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """What a family's tiny model is like."""

    family: str
    settings: dict[str, Setting] = {}
    n_head_kv: int = 2
    n_dense: int = 1  # layers without experts
    n_shared: int = 1  # shared experts
    norms: str = ""  # of Q and K: "head", "full" or none
    ffn_norm: str = "ffn_norm"
    biases: bool = False
    fused_qkv: bool = False
    tied: bool = False
    draft_layer: bool = False


SIGMOID: dict[str, Setting] = {
    "expert_gating_func": 2,
    "expert_weights_scale": 1.5,
    "expert_weights_norm": True,
}
VARIANTS = {
    "bailingmoe2": Variant(
        family="bailingmoe2",
        settings=SIGMOID | {"expert_group_count": 4, "expert_group_used_count": 2},
        norms="head",
        fused_qkv=True,
    ),
    "dots1": Variant(
        family="dots1", settings=SIGMOID, n_head_kv=4, n_dense=2, n_shared=2, norms="head"
    ),
    "ernie4_5-moe": Variant(
        family="ernie4_5-moe",
        settings={"interleave_moe_layer_step": 1, "expert_shared_feed_forward_length": N_FF},
        tied=True,
    ),
    "glm4moe": Variant(
        family="glm4moe",
        settings={"expert_weights_norm": True, "rope.dimension_count": 16},
        ffn_norm="post_attention_norm",
        biases=True,
        draft_layer=True,
    ),
    "glm4moe-norms": Variant(
        family="glm4moe", settings=SIGMOID, ffn_norm="post_attention_norm", norms="head"
    ),
    "minimax-m2": Variant(
        family="minimax-m2",
        settings={"expert_gating_func": 2, "rope.dimension_count": 16},
        n_dense=0,
        n_shared=0,
        norms="full",
    ),
}


def model(name: str, type: str) -> Path:
    v = VARIANTS[name]
    n_layer = N_LAYER + v.draft_layer
    settings = usual_settings(n_layer, N_EMBD, N_HEAD, v.n_head_kv, N_EXPERT, 3) | {
        "feed_forward_length": N_DENSE if v.n_dense else N_FF,
        "attention.key_length": HEAD_DIM,
        "attention.value_length": HEAD_DIM,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
        "expert_feed_forward_length": N_FF,
        "leading_dense_block_count": v.n_dense,
    }
    if v.n_shared:
        settings["expert_shared_count"] = v.n_shared
    if v.draft_layer:
        settings["nextn_predict_layers"] = 1
    tensors = head(N_EMBD, tied=v.tied)
    for il in range(n_layer):
        tensors += [
            vector(f"blk.{il}.attn_norm.weight", N_EMBD),
            vector(f"blk.{il}.{v.ffn_norm}.weight", N_EMBD),
            *_attention(il, v),
            *(gated_ffn(il, N_EMBD, N_DENSE) if il < v.n_dense else _moe(il, v)),
        ]
        if il >= N_LAYER:
            tensors += draft_ends(il, N_EMBD)
    return write_model(v.family, settings | v.settings, tensors, type)


def _attention(il: int, v: Variant) -> list[Tensor]:
    p = f"blk.{il}."
    tensors = attention(il, N_EMBD, N_HEAD, v.n_head_kv, HEAD_DIM, biases=v.biases)
    if v.fused_qkv:
        width = (N_HEAD + 2 * v.n_head_kv) * HEAD_DIM
        tensors = [matrix(f"{p}attn_qkv.weight", N_EMBD, width), tensors[3]]
    if v.norms:
        n_head, n_head_kv = (1, 1) if v.norms == "head" else (N_HEAD, v.n_head_kv)
        tensors += qk_norms(il, n_head * HEAD_DIM, n_head_kv * HEAD_DIM)
    return tensors


def _moe(il: int, v: Variant) -> list[Tensor]:
    tensors = experts(il, N_EMBD, N_FF, N_EXPERT)
    tensors.append(bias(f"blk.{il}.exp_probs_b.bias", N_EXPERT))
    if v.n_shared:
        tensors += gated_ffn(il, N_EMBD, v.n_shared * N_FF, "_shexp")
    return tensors


@pytest.mark.parametrize("name", VARIANTS)
def test_f32_matches_llama_cpp(name: str) -> None:
    check_parity(model(name, "f32"), F32_LIMIT)


@pytest.mark.parametrize("name", VARIANTS)
def test_quantised_matches_llama_cpp(name: str) -> None:
    check_parity(model(name, "q8_0"), QUANTISED_LIMIT)


@pytest.mark.parametrize("name", ["bailingmoe2", "dots1", "ernie4_5-moe", "glm4moe", "minimax-m2"])
def test_nothing_beside_a_request_changes_its_bits(name: str) -> None:
    check_identity(model(name, "q4_0"))
