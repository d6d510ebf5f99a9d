"""llama with experts: Mixtral 8x7B and 8x22B, and merges of Llama models."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import head, usual_layer, usual_settings, vector, write_model

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF = 128, 3, 4, 2, 4, 96


def model(type: str, variant: str = "mixtral") -> Path:
    """Variants: llama-3 has frequency factors and shares embedding and output, as Llama 3.2 does;
    linear and yarn stretch the positions."""
    settings = usual_settings(N_LAYER, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, 2) | {
        "feed_forward_length": N_FF,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": N_EMBD // N_HEAD,
        "rope.freq_base": 1e6,
    }
    if variant in ("linear", "yarn"):
        settings["rope.scaling.type"] = variant
        settings["rope.scaling.factor"] = 4.0
        settings["rope.scaling.original_context_length"] = 64
    tensors = head(N_EMBD, tied=variant == "llama-3")
    if variant == "llama-3":
        tensors.append(vector("rope_freqs.weight", N_EMBD // N_HEAD // 2, mean=2.0))
    for il in range(N_LAYER):
        tensors += usual_layer(il, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF)
    return write_model("llama", settings, tensors, type)


@pytest.mark.parametrize("variant", ["mixtral", "llama-3", "linear", "yarn"])
def test_f32_matches_llama_cpp(variant: str) -> None:
    check_parity(model("f32", variant), F32_LIMIT)


def test_quantised_matches_llama_cpp() -> None:
    check_parity(model("q4_0"), QUANTISED_LIMIT)


@pytest.mark.parametrize("variant", ["mixtral", "llama-3"])
def test_nothing_beside_a_request_changes_its_bits(variant: str) -> None:
    check_identity(model("q4_0", variant))
