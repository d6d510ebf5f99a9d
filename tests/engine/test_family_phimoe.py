"""phimoe: Phi-3.5-MoE, in contexts up to what it was first trained for, and longer."""

from pathlib import Path

import pytest

from engine.bench_models.tokenizer import N_VOCAB
from engine.model_info import inspect_model
from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    bias,
    head,
    usual_layer,
    usual_settings,
    vector,
    write_model,
)

# llama.cpp scales Q by the root of the head's size before attention rounds it to half precision,
# which makes no difference where that is a power of two.
N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF = 256, 3, 4, 2, 8, 64
SHORT, LONG = 4096, 64  # what it was first trained for: as much as the engine's context, or less


def model(type: str, original_context: int = LONG) -> Path:
    head_dim = N_EMBD // N_HEAD
    settings = usual_settings(N_LAYER, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, 2) | {
        "feed_forward_length": N_FF,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.sliding_window": 131072,
        "rope.dimension_count": head_dim,
        "rope.freq_base": 10000.0,
        "rope.scaling.original_context_length": original_context,
        "rope.scaling.attn_factor": 1.19,
    }
    tensors = [
        *head(N_EMBD),
        bias("output_norm.bias", N_EMBD),
        bias("output.bias", N_VOCAB),
        vector("rope_factors_long.weight", head_dim // 2, mean=8.0, spread=2.0),
        vector("rope_factors_short.weight", head_dim // 2, mean=1.2, spread=0.1),
    ]
    for il in range(N_LAYER):
        p = f"blk.{il}."
        tensors += [
            *usual_layer(il, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF, biases=True),
            *(bias(f"{p}{name}.bias", N_EMBD) for name in ("attn_norm", "attn_output", "ffn_norm")),
        ]
    return write_model("phimoe", settings, tensors, type)


def test_inspect_says_that_it_runs() -> None:
    assert inspect_model(model("q8_0")).supported


@pytest.mark.parametrize("original_context", [SHORT, LONG])
def test_f32_matches_llama_cpp(original_context: int) -> None:
    check_parity(model("f32", original_context), F32_LIMIT)


@pytest.mark.parametrize("type", ["q8_0", "q4_0"])
def test_quantised_matches_llama_cpp(type: str) -> None:
    check_parity(model(type), QUANTISED_LIMIT)


@pytest.mark.parametrize("type", ["f32", "q4_0"])
def test_nothing_beside_a_request_changes_its_bits(type: str) -> None:
    check_identity(model(type))
