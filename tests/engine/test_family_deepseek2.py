"""deepseek2: DeepSeek V2, V3, R1 and Lite, Kimi K2, GLM-4.7-Flash."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    Tensor,
    bias,
    experts,
    gated_ffn,
    head,
    matrix,
    usual_settings,
    vector,
    write_model,
)

N_EMBD, N_HEAD, N_EXPERT, N_FF, N_DENSE = 128, 4, 8, 64, 96
LORA_Q, LORA_KV, ROT, NOPE, VALUE = 96, 64, 32, 32, 32
N_DECODE = {"v3": 32, "v2": 32, "v2-absorbed": 32, "v2-lite": 8}  # fewer where layers are many


def model(type: str, variant: str = "v3") -> Path:
    """Variants: v3 (latent rows, queries through a latent row, groups, sigmoid and bias, YaRN);
    v2 (keys and values made of the rows, softmax); v2-absorbed; v2-lite (queries without a latent
    row, which llama.cpp knows by the number of layers)."""
    v3, lite = variant == "v3", variant == "v2-lite"
    n_layer = 26 if lite else 3
    n_dense = n_layer - 1 if lite else 1
    n_head_kv = N_HEAD if variant == "v2" else 1
    settings = usual_settings(n_layer, N_EMBD, N_HEAD, n_head_kv, N_EXPERT, 3) | {
        "feed_forward_length": N_DENSE,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.kv_lora_rank": LORA_KV,
        "rope.freq_base": 10000.0,
        "rope.dimension_count": ROT,
        "leading_dense_block_count": n_dense,
        "expert_feed_forward_length": N_FF,
        "expert_shared_count": 1,
        "expert_weights_scale": 2.0 if v3 else 1.0,
    }
    if not lite:
        settings["attention.q_lora_rank"] = LORA_Q
    if variant == "v2":
        settings["attention.key_length"] = NOPE + ROT
        settings["attention.value_length"] = VALUE
    else:
        settings["attention.key_length"] = LORA_KV + ROT
        settings["attention.value_length"] = LORA_KV
        settings["attention.key_length_mla"] = NOPE + ROT
        settings["attention.value_length_mla"] = VALUE
    if v3:
        settings |= {
            "expert_gating_func": 2,
            "expert_weights_norm": True,
            "expert_group_count": 4,
            "expert_group_used_count": 2,
        }
    if variant != "v2-absorbed":
        settings |= {
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": 8.0,
            "rope.scaling.original_context_length": 64,
            "rope.scaling.yarn_log_multiplier": 0.1 if v3 else 0.0707,
        }
    tensors = head(N_EMBD)
    for il in range(n_layer):
        tensors += [
            vector(f"blk.{il}.attn_norm.weight", N_EMBD),
            vector(f"blk.{il}.ffn_norm.weight", N_EMBD),
            *_attention(il, absorbed=variant != "v2", latent_q=not lite),
            *(gated_ffn(il, N_EMBD, N_DENSE) if il < n_dense else _moe(il, v3)),
        ]
    return write_model("deepseek2", settings, tensors, type)


def _attention(il: int, absorbed: bool, latent_q: bool) -> list[Tensor]:
    p = f"blk.{il}."
    if absorbed:
        kv = [
            matrix(f"{p}attn_k_b.weight", NOPE, LORA_KV, N_HEAD),
            matrix(f"{p}attn_v_b.weight", LORA_KV, VALUE, N_HEAD),
        ]
    else:
        kv = [matrix(f"{p}attn_kv_b.weight", LORA_KV, N_HEAD * (NOPE + VALUE))]
    if latent_q:
        q = [
            matrix(f"{p}attn_q_a.weight", N_EMBD, LORA_Q),
            vector(f"{p}attn_q_a_norm.weight", LORA_Q),
            matrix(f"{p}attn_q_b.weight", LORA_Q, N_HEAD * (NOPE + ROT)),
        ]
    else:
        q = [matrix(f"{p}attn_q.weight", N_EMBD, N_HEAD * (NOPE + ROT))]
    return [
        *q,
        matrix(f"{p}attn_kv_a_mqa.weight", N_EMBD, LORA_KV + ROT),
        vector(f"{p}attn_kv_a_norm.weight", LORA_KV),
        *kv,
        matrix(f"{p}attn_output.weight", N_HEAD * VALUE, N_EMBD),
    ]


def _moe(il: int, biased: bool) -> list[Tensor]:
    tensors = [*experts(il, N_EMBD, N_FF, N_EXPERT), *gated_ffn(il, N_EMBD, N_FF, "_shexp")]
    if biased:
        tensors.append(bias(f"blk.{il}.exp_probs_b.bias", N_EXPERT))
    return tensors


@pytest.mark.parametrize("variant", ["v3", "v2", "v2-absorbed", "v2-lite"])
def test_f32_matches_llama_cpp(variant: str) -> None:
    check_parity(model("f32", variant), F32_LIMIT, n_decode=N_DECODE[variant])


@pytest.mark.parametrize(
    ("type", "variant"),
    [("q4_0", "v3"), ("q8_0", "v3"), ("q4_0", "v2"), ("q8_0", "v2"), ("q4_0", "v2-lite")],
)
def test_quantised_matches_llama_cpp(type: str, variant: str) -> None:
    check_parity(model(type, variant), QUANTISED_LIMIT, n_decode=N_DECODE[variant])


@pytest.mark.parametrize(
    ("type", "variant"),
    [("f32", "v3"), ("q4_0", "v3"), ("f32", "v2"), ("q4_0", "v2"), ("q4_0", "v2-lite")],
)
def test_nothing_beside_a_request_changes_its_bits(type: str, variant: str) -> None:
    check_identity(model(type, variant))
