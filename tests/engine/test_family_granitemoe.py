"""granitemoe: Granite 3 MoE, with and without a shared expert."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    Setting,
    attention,
    experts,
    gated_ffn,
    head,
    vector,
    write_model,
)

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF, N_SHARED = 128, 3, 4, 2, 8, 64, 96


def model(type: str, shared: bool) -> Path:
    settings: dict[str, Setting] = {
        "block_count": N_LAYER,
        "context_length": 4096,
        "embedding_length": N_EMBD,
        "feed_forward_length": N_FF,
        "attention.head_count": N_HEAD,
        "attention.head_count_kv": N_HEAD_KV,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.scale": 0.125,
        "embedding_scale": 12.0,
        "residual_scale": 0.22,
        "logit_scale": 0.5,
        "rope.dimension_count": N_EMBD // N_HEAD,
        "rope.freq_base": 10000.0,
        "expert_count": N_EXPERT,
        "expert_used_count": 3,
    }
    if shared:
        settings["expert_shared_feed_forward_length"] = N_SHARED
    tensors = head(N_EMBD, tied=True, spread=1 / 12)
    for il in range(N_LAYER):
        tensors += [
            vector(f"blk.{il}.attn_norm.weight", N_EMBD),
            *attention(il, N_EMBD, N_HEAD, N_HEAD_KV, N_EMBD // N_HEAD),
            vector(f"blk.{il}.ffn_norm.weight", N_EMBD),
            *experts(il, N_EMBD, N_FF, N_EXPERT),
        ]
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
