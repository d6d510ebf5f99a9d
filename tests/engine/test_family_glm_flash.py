"""deepseek2 files that do not say how experts are chosen: GLM-4.7-Flash is known by its sizes."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, check_parity
from tests.helpers.family_models import (
    Setting,
    experts,
    gated_ffn,
    head,
    matrix,
    usual_settings,
    vector,
    write_model,
)

N_EMBD, N_HEAD, N_EXPERT, N_FF = 64, 2, 4, 32
LORA_Q, LORA_KV, ROT, NOPE, VALUE = 64, 64, 32, 32, 32
GLM_VOCABULARY = 154880


def model(n_layer: int, settings: dict[str, Setting]) -> Path:
    all_settings = usual_settings(n_layer, N_EMBD, N_HEAD, 1, N_EXPERT, 2) | {
        "feed_forward_length": N_FF,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.kv_lora_rank": LORA_KV,
        "attention.q_lora_rank": LORA_Q,
        "attention.key_length": LORA_KV + ROT,
        "attention.value_length": LORA_KV,
        "attention.key_length_mla": NOPE + ROT,
        "attention.value_length_mla": VALUE,
        "rope.dimension_count": ROT,
        "expert_feed_forward_length": N_FF,
        "expert_shared_count": 1,
        "expert_weights_scale": 1.8,
        "expert_weights_norm": True,
    }
    # A loud embedding keeps so many random layers from blowing up what rounding makes.
    tensors = head(N_EMBD, spread=8.0)
    for il in range(n_layer):
        p = f"blk.{il}."
        tensors += [
            vector(f"{p}attn_norm.weight", N_EMBD),
            vector(f"{p}ffn_norm.weight", N_EMBD),
            matrix(f"{p}attn_q_a.weight", N_EMBD, LORA_Q),
            vector(f"{p}attn_q_a_norm.weight", LORA_Q),
            matrix(f"{p}attn_q_b.weight", LORA_Q, N_HEAD * (NOPE + ROT)),
            matrix(f"{p}attn_kv_a_mqa.weight", N_EMBD, LORA_KV + ROT),
            vector(f"{p}attn_kv_a_norm.weight", LORA_KV),
            matrix(f"{p}attn_k_b.weight", NOPE, LORA_KV, N_HEAD),
            matrix(f"{p}attn_v_b.weight", LORA_KV, VALUE, N_HEAD),
            matrix(f"{p}attn_output.weight", N_HEAD * VALUE, N_EMBD),
            *experts(il, N_EMBD, N_FF, N_EXPERT),
            *gated_ffn(il, N_EMBD, N_FF, "_shexp"),
        ]
    return write_model("deepseek2", all_settings | settings, tensors)


@pytest.mark.parametrize(
    ("n_layer", "settings"),
    [
        (47, {"vocab_size": GLM_VOCABULARY}),  # sigmoid
        (47, {"vocab_size": GLM_VOCABULARY, "expert_gating_func": 0}),
        (46, {"vocab_size": GLM_VOCABULARY}),  # softmax, as DeepSeek V2
        (47, {}),
    ],
)
def test_experts_are_chosen_as_in_llama_cpp(n_layer: int, settings: dict[str, Setting]) -> None:
    check_parity(model(n_layer, settings), F32_LIMIT, n_prompt=24, n_decode=8)
