"""gpt-oss: gpt-oss-20b and -120b."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    attention,
    bias,
    experts,
    head,
    usual_settings,
    vector,
    write_model,
)

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, HEAD_DIM, N_EXPERT, N_FF = 128, 4, 8, 2, 32, 8, 64


def model(type: str, expert_type: str = "", yarn: bool = True) -> Path:
    settings = usual_settings(N_LAYER, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, 3) | {
        "feed_forward_length": N_FF,
        "attention.key_length": HEAD_DIM,
        "attention.value_length": HEAD_DIM,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.sliding_window": 20,
        "rope.freq_base": 150000.0,
        "expert_feed_forward_length": N_FF,
    }
    if yarn:
        settings["rope.scaling.type"] = "yarn"
        settings["rope.scaling.factor"] = 32.0
        settings["rope.scaling.original_context_length"] = 128
    tensors = head(N_EMBD)
    for il in range(N_LAYER):
        p = f"blk.{il}."
        tensors += [
            vector(f"{p}attn_norm.weight", N_EMBD),
            *attention(il, N_EMBD, N_HEAD, N_HEAD_KV, HEAD_DIM, biases=True),
            bias(f"{p}attn_output.bias", N_EMBD),
            vector(f"{p}attn_sinks.weight", N_HEAD, mean=0.5, spread=0.5),
            vector(f"{p}post_attention_norm.weight", N_EMBD),
            *experts(il, N_EMBD, N_FF, N_EXPERT),
            bias(f"{p}ffn_gate_inp.bias", N_EXPERT),
            bias(f"{p}ffn_gate_exps.bias", N_FF, N_EXPERT),
            bias(f"{p}ffn_up_exps.bias", N_FF, N_EXPERT),
            bias(f"{p}ffn_down_exps.bias", N_EMBD, N_EXPERT),
        ]
    return write_model("gpt-oss", settings, tensors, type, expert_type)


@pytest.mark.parametrize("yarn", [True, False])
def test_f32_matches_llama_cpp(yarn: bool) -> None:
    check_parity(model("f32", yarn=yarn), F32_LIMIT)


@pytest.mark.parametrize(("type", "expert_type"), [("q8_0", "mxfp4"), ("q4_0", "q4_0")])
def test_quantised_matches_llama_cpp(type: str, expert_type: str) -> None:
    check_parity(model(type, expert_type), QUANTISED_LIMIT)


@pytest.mark.parametrize(("type", "expert_type"), [("q8_0", "mxfp4"), ("f32", "f32")])
def test_nothing_beside_a_request_changes_its_bits(type: str, expert_type: str) -> None:
    check_identity(model(type, expert_type))
