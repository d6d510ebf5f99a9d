"""qwen2moe: Qwen1.5-MoE, Qwen2-57B-A14B."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    gated_ffn,
    head,
    usual_layer,
    usual_settings,
    vector,
    write_model,
)

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF, N_SHARED = 128, 3, 4, 2, 8, 64, 96


def model(type: str, written_sizes: bool = True) -> Path:
    """`written_sizes`: those of experts stand in the file, else they follow from others."""
    n_shared = N_SHARED if written_sizes else 3 * N_FF
    settings = usual_settings(N_LAYER, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, 3) | {
        "feed_forward_length": 3 * N_FF,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
    }
    if written_sizes:
        settings["expert_feed_forward_length"] = N_FF
        settings["expert_shared_feed_forward_length"] = n_shared
    tensors = head(N_EMBD)
    for il in range(N_LAYER):
        tensors += [
            *usual_layer(il, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF, biases=True),
            *gated_ffn(il, N_EMBD, n_shared, "_shexp"),
            vector(f"blk.{il}.ffn_gate_inp_shexp.weight", N_EMBD, mean=0.0),
        ]
    return write_model("qwen2moe", settings, tensors, type)


@pytest.mark.parametrize("written_sizes", [True, False])
def test_f32_matches_llama_cpp(written_sizes: bool) -> None:
    check_parity(model("f32", written_sizes), F32_LIMIT)


@pytest.mark.parametrize("type", ["q4_0", "q8_0"])
def test_quantised_matches_llama_cpp(type: str) -> None:
    check_parity(model(type), QUANTISED_LIMIT)


@pytest.mark.parametrize("type", ["f32", "q4_0"])
def test_nothing_beside_a_request_changes_its_bits(type: str) -> None:
    check_identity(model(type))
