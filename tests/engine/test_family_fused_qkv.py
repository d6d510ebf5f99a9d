"""Q, K and V in one matrix, where a family has attention of its own."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    Tensor,
    bias,
    experts,
    gated_ffn,
    head,
    matrix,
    qk_norms,
    usual_settings,
    vector,
    write_model,
)

N_EMBD, N_HEAD, N_HEAD_KV, HEAD_DIM, N_EXPERT, N_FF = 64, 2, 1, 32, 4, 32
STATE = 32  # of a delta net with one K head and two V heads


def attention(il: int, n_q: int) -> list[Tensor]:
    width = n_q + 2 * N_HEAD_KV * HEAD_DIM
    return [
        matrix(f"blk.{il}.attn_qkv.weight", N_EMBD, width),
        matrix(f"blk.{il}.attn_output.weight", N_HEAD * HEAD_DIM, N_EMBD),
        *qk_norms(il, HEAD_DIM, HEAD_DIM),
    ]


def norms(il: int, *names: str) -> list[Tensor]:
    return [vector(f"blk.{il}.{name}.weight", N_EMBD) for name in names]


def gemma4(type: str) -> Path:
    """A layer with a window and one without."""
    settings = usual_settings(2, N_EMBD, N_HEAD, [N_HEAD_KV] * 2, N_EXPERT, 2) | {
        "embedding_length_per_layer_input": 0,
        "feed_forward_length": N_FF,
        "attention.key_length": HEAD_DIM,
        "attention.value_length": HEAD_DIM,
        "attention.key_length_swa": HEAD_DIM,
        "attention.value_length_swa": HEAD_DIM,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.sliding_window": 24,
        "attention.sliding_window_pattern": [True, False],
        "attention.shared_kv_layers": 0,
        "rope.dimension_count": HEAD_DIM,
        "rope.dimension_count_swa": HEAD_DIM,
        "final_logit_softcapping": 30.0,
        "expert_feed_forward_length": N_FF,
    }
    tensors = head(N_EMBD, spread=N_EMBD**-0.5)
    tensors.append(vector("rope_freqs.weight", HEAD_DIM // 2, mean=4.0))
    for il in range(2):
        tensors += [
            *norms(il, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"),
            *norms(il, "pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"),
            *attention(il, N_HEAD * HEAD_DIM),
            *gated_ffn(il, N_EMBD, N_FF),
            vector(f"blk.{il}.ffn_gate_inp.scale", N_EMBD, mean=N_EMBD**0.5, spread=2.0),
            *experts(il, N_EMBD, N_FF, N_EXPERT),
        ]
    return write_model("gemma4", settings, tensors, type)


def qwen35moe(type: str) -> Path:
    """A delta net, then attention, whose Q has a gate beside it."""
    settings = usual_settings(2, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, 2) | {
        "attention.key_length": HEAD_DIM,
        "attention.value_length": HEAD_DIM,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "full_attention_interval": 2,
        "rope.dimension_count": HEAD_DIM // 2,
        "rope.dimension_sections": [3, 3, 2, 0],
        "expert_feed_forward_length": N_FF,
        "expert_shared_feed_forward_length": N_FF,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 2 * STATE,
        "ssm.state_size": STATE,
        "ssm.time_step_rank": 2,
        "ssm.group_count": 1,
    }
    tensors = [
        *head(N_EMBD),
        matrix("blk.0.attn_qkv.weight", N_EMBD, 4 * STATE),
        matrix("blk.0.attn_gate.weight", N_EMBD, 2 * STATE),
        matrix("blk.0.ssm_beta.weight", N_EMBD, 2),
        matrix("blk.0.ssm_alpha.weight", N_EMBD, 2),
        Tensor("blk.0.ssm_conv1d.weight", (4, 4 * STATE), 0.6, 0.1, True),
        bias("blk.0.ssm_dt.bias", 2),
        vector("blk.0.ssm_a", 2, mean=-0.3, spread=0.08),
        vector("blk.0.ssm_norm.weight", STATE),
        matrix("blk.0.ssm_out.weight", 2 * STATE, N_EMBD),
        *attention(1, 2 * N_HEAD * HEAD_DIM),
    ]
    for il in range(2):
        tensors += [
            *norms(il, "attn_norm", "post_attention_norm"),
            *experts(il, N_EMBD, N_FF, N_EXPERT),
            *gated_ffn(il, N_EMBD, N_FF, "_shexp"),
            vector(f"blk.{il}.ffn_gate_inp_shexp.weight", N_EMBD, mean=0.0),
        ]
    return write_model("qwen35moe", settings, tensors, type)


MODELS = {"gemma4": gemma4, "qwen35moe": qwen35moe}


@pytest.mark.parametrize("family", MODELS)
def test_f32_matches_llama_cpp(family: str) -> None:
    check_parity(MODELS[family]("f32"), F32_LIMIT)


@pytest.mark.parametrize("family", MODELS)
def test_nothing_beside_a_request_changes_its_bits(family: str) -> None:
    check_identity(MODELS[family]("q4_0"))
