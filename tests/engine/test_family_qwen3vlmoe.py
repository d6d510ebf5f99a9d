"""qwen3vlmoe: the language model of Qwen3-VL-30B-A3B, for text."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import head, usual_layer, usual_settings, write_model

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, HEAD_DIM, N_EXPERT, N_FF = 128, 3, 4, 2, 32, 8, 64


def model(type: str) -> Path:
    tensors = head(N_EMBD)
    for il in range(N_LAYER):
        tensors += usual_layer(il, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF, qk_norm=HEAD_DIM)
    return write_model(
        "qwen3vlmoe",
        usual_settings(N_LAYER, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, 3)
        | {
            "attention.key_length": HEAD_DIM,
            "attention.value_length": HEAD_DIM,
            "attention.layer_norm_rms_epsilon": 1e-6,
            "rope.freq_base": 5e6,
            "rope.dimension_sections": [6, 5, 5, 0],
            "n_deepstack_layers": 2,
            "expert_feed_forward_length": N_FF,
        },
        tensors,
        type,
    )


def test_f32_matches_llama_cpp() -> None:
    check_parity(model("f32"), F32_LIMIT)


@pytest.mark.parametrize("type", ["q4_0", "q8_0"])
def test_quantised_matches_llama_cpp(type: str) -> None:
    check_parity(model(type), QUANTISED_LIMIT)


def test_nothing_beside_a_request_changes_its_bits() -> None:
    check_identity(model("q4_0"))
