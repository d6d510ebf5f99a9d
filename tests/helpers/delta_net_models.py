"""Tiny models of qwen35moe and qwen3next, whose layers are delta nets but for every other one."""

from pathlib import Path

from tests.helpers.family_models import (
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
from tests.helpers.quantised_mixes import q4_k_m

N_LAYER, N_HEAD, N_HEAD_KV, HEAD_DIM, N_EXPERT = 4, 4, 2, 32, 8
N_K_HEAD, N_V_HEAD, STATE, KERNEL = 2, 4, 32, 4
KEYS, INNER = N_K_HEAD * STATE, N_V_HEAD * STATE
CHANNELS = 2 * KEYS + INNER


def delta_net_model(family: str, type: str = "f32", variant: str = "") -> Path:
    """Variants: fused (gate and up of experts in one matrix, recurrent layers listed, a draft layer
    behind the others), legacy (qwen3next with q, k, v, z in one matrix). The type may be q4_k_m."""
    n_embd, n_ff = (256, 256) if type == "q4_k_m" else (128, 64)
    settings = usual_settings(N_LAYER, n_embd, N_HEAD, N_HEAD_KV, N_EXPERT, 3) | {
        "attention.key_length": HEAD_DIM,
        "attention.value_length": HEAD_DIM,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
        "rope.dimension_count": HEAD_DIM // 2,
        "expert_feed_forward_length": n_ff,
        "expert_shared_feed_forward_length": n_ff,
        "ssm.conv_kernel": KERNEL,
        "ssm.inner_size": INNER,
        "ssm.state_size": STATE,
        "ssm.time_step_rank": N_V_HEAD,
        "ssm.group_count": N_K_HEAD,
    }
    recurrent = [il % 2 == 0 for il in range(N_LAYER)]
    if family == "qwen35moe":
        settings["rope.dimension_sections"] = [3, 3, 2, 0]
    if variant == "fused":
        settings["attention.recurrent_layers"] = [*recurrent, False]
        settings["block_count"] = N_LAYER + 1
        settings["nextn_predict_layers"] = 1
    else:
        settings["full_attention_interval"] = 2
    tensors = head(n_embd, tied=variant == "fused")
    for il in range(N_LAYER):
        tensors += [
            vector(f"blk.{il}.attn_norm.weight", n_embd),
            vector(f"blk.{il}.post_attention_norm.weight", n_embd),
            *(_delta_net(il, n_embd, family, variant) if recurrent[il] else _attention(il, n_embd)),
            *_moe(il, n_embd, n_ff, variant),
        ]
    if variant == "fused":
        tensors += _draft_layer(N_LAYER, n_embd, n_ff, variant)
    types = q4_k_m(tensors, N_LAYER) if type == "q4_k_m" else {}
    return write_model(family, settings, tensors, "" if types else type, types=types)


def _attention(il: int, n_embd: int) -> list[Tensor]:
    p = f"blk.{il}."
    return [
        matrix(f"{p}attn_q.weight", n_embd, 2 * N_HEAD * HEAD_DIM),
        *attention(il, n_embd, N_HEAD, N_HEAD_KV, HEAD_DIM)[1:],
        *qk_norms(il, HEAD_DIM, HEAD_DIM),
    ]


def _delta_net(il: int, n_embd: int, family: str, variant: str) -> list[Tensor]:
    p = f"blk.{il}."
    projections = [
        matrix(f"{p}attn_qkv.weight", n_embd, CHANNELS),
        matrix(f"{p}attn_gate.weight", n_embd, INNER),
    ]
    if variant == "legacy":
        projections = [matrix(f"{p}ssm_in.weight", n_embd, CHANNELS + INNER)]
    if family == "qwen35moe":
        projections += [
            matrix(f"{p}ssm_beta.weight", n_embd, N_V_HEAD),
            matrix(f"{p}ssm_alpha.weight", n_embd, N_V_HEAD),
        ]
    else:
        projections.append(matrix(f"{p}ssm_ba.weight", n_embd, 2 * N_V_HEAD))
    return [
        *projections,
        Tensor(f"{p}ssm_conv1d.weight", (KERNEL, CHANNELS), 0.6, 0.1, True),
        bias(f"{p}ssm_dt.bias", N_V_HEAD),
        vector(f"{p}ssm_a", N_V_HEAD, mean=-0.3, spread=0.08),
        vector(f"{p}ssm_norm.weight", STATE),
        matrix(f"{p}ssm_out.weight", INNER, n_embd),
    ]


def _moe(il: int, n_embd: int, n_ff: int, variant: str) -> list[Tensor]:
    return [
        *experts(il, n_embd, n_ff, N_EXPERT, fused=variant == "fused"),
        *gated_ffn(il, n_embd, n_ff, "_shexp"),
        vector(f"blk.{il}.ffn_gate_inp_shexp.weight", n_embd, mean=0.0),
    ]


def _draft_layer(il: int, n_embd: int, n_ff: int, variant: str) -> list[Tensor]:
    p = f"blk.{il}."
    return [
        vector(f"{p}attn_norm.weight", n_embd),
        vector(f"{p}post_attention_norm.weight", n_embd),
        *_attention(il, n_embd),
        *_moe(il, n_embd, n_ff, variant),
        *draft_ends(il, n_embd),
    ]
