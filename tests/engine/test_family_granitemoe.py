"""granitemoe: Granite 3 MoE, with and without a shared expert."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import gated_ffn, head, usual_layer, usual_settings, write_model

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF, N_SHARED = 128, 3, 4, 2, 8, 64, 96


def model(type: str, shared: bool) -> Path:
    settings = usual_settings(N_LAYER, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, 3) | {
        "feed_forward_length": N_FF,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.scale": 0.125,
        "embedding_scale": 12.0,
        "residual_scale": 0.22,
        "logit_scale": 0.5,
        "rope.dimension_count": N_EMBD // N_HEAD,
        "rope.freq_base": 10000.0,
    }
    if shared:
        settings["expert_shared_feed_forward_length"] = N_SHARED
    tensors = head(N_EMBD, tied=True, spread=1 / 12)
    for il in range(N_LAYER):
        tensors += usual_layer(il, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF)
        if shared:
            tensors += gated_ffn(il, N_EMBD, N_SHARED, "_shexp")
    return write_model("granitemoe", settings, tensors, type)


@pytest.mark.parametrize("shared", [False, True])
def test_f32_matches_llama_cpp(shared: bool) -> None:
    check_parity(model("f32", shared), F32_LIMIT)


@pytest.mark.parametrize("shared", [False, True])
def test_quantised_matches_llama_cpp(shared: bool) -> None:
    check_parity(model("q4_0", shared), QUANTISED_LIMIT)


@pytest.mark.parametrize("shared", [False, True])
def test_nothing_beside_a_request_changes_its_bits(shared: bool) -> None:
    check_identity(model("q4_0", shared))
