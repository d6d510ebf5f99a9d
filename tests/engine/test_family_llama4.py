"""llama4: Llama 4 Scout (experts in all layers) and Maverick (in every other one).

Layers of both look at chunks of 8192 positions, which no file says otherwise.
"""

from pathlib import Path

import numpy as np
import pytest

from engine.model_info import inspect_model
from tests.helpers.family_checks import (
    F32_LIMIT,
    QUANTISED_LIMIT,
    check_identity,
    check_parity,
    logits_beside_others,
)
from tests.helpers.family_models import (
    Setting,
    attention,
    experts,
    gated_ffn,
    head,
    usual_settings,
    vector,
    write_model,
)
from tests.helpers.native_runs import logits_of, open_engine, text_tokens

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, N_FF, N_DENSE = 64, 5, 2, 1, 32, 96
HEAD_DIM = N_EMBD // N_HEAD
CHUNK = 8192
CONTEXT = CHUNK + 512


def model(type: str, variant: str = "scout", n_used: int = 1, **options: Setting) -> Path:
    """The fourth layer looks at everything; behind it is one with a chunk again."""
    step, n_expert = {"scout": (1, 16), "maverick": (2, 128)}[variant]
    settings = usual_settings(N_LAYER, N_EMBD, N_HEAD, N_HEAD_KV, n_expert, n_used) | {
        "context_length": 4 * CHUNK,
        "feed_forward_length": N_DENSE,
        "expert_feed_forward_length": N_FF,
        "interleave_moe_layer_step": step,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": HEAD_DIM,
        "rope.freq_base": 500000.0,
        **options,
    }
    tensors = head(N_EMBD)
    if variant == "scout":
        tensors.append(vector("rope_freqs.weight", HEAD_DIM // 2, mean=4.0))
    for il in range(N_LAYER):
        p = f"blk.{il}."
        tensors += [
            vector(f"{p}attn_norm.weight", N_EMBD),
            *attention(il, N_EMBD, N_HEAD, N_HEAD_KV, HEAD_DIM),
            vector(f"{p}ffn_norm.weight", N_EMBD),
        ]
        if (il + 1) % step == 0:
            tensors += experts(il, N_EMBD, N_FF, n_expert)
            tensors += gated_ffn(il, N_EMBD, N_FF, "_shexp")
        else:
            tensors += gated_ffn(il, N_EMBD, N_DENSE)
    return write_model("llama4", settings, tensors, type)


VARIANTS = [("scout", 1), ("scout", 3), ("maverick", 1)]


@pytest.mark.parametrize(("variant", "n_used"), VARIANTS)
def test_inspect_says_that_it_runs(variant: str, n_used: int) -> None:
    assert inspect_model(model("q8_0", variant, n_used)).supported


@pytest.mark.parametrize("length", [0, 4096])
def test_chunks_of_another_length_are_a_reason(length: int) -> None:
    path = model("f32", **{"attention.sliding_window": length})
    assert f"sliding_window is {length}; only chunks of 8192" in inspect_model(path).reason


@pytest.mark.parametrize(("variant", "n_used"), VARIANTS)
def test_f32_matches_llama_cpp(variant: str, n_used: int) -> None:
    check_parity(model("f32", variant, n_used), F32_LIMIT)


@pytest.mark.parametrize("type", ["q8_0", "q4_0"])
@pytest.mark.parametrize(("variant", "n_used"), VARIANTS)
def test_quantised_matches_llama_cpp(type: str, variant: str, n_used: int) -> None:
    check_parity(model(type, variant, n_used), QUANTISED_LIMIT)


@pytest.mark.slow
@pytest.mark.parametrize("n_prompt", [CHUNK - 16, CHUNK + 64])
@pytest.mark.parametrize("variant", ["scout", "maverick"])
def test_the_second_chunk_matches_llama_cpp(variant: str, n_prompt: int) -> None:
    """It begins while decoding, or in the prompt."""
    check_parity(model("f32", variant), F32_LIMIT, n_prompt, n_decode=32, context=CONTEXT)


@pytest.mark.parametrize("type", ["f32", "q4_0"])
@pytest.mark.parametrize(("variant", "n_used"), VARIANTS)
def test_nothing_beside_a_request_changes_its_bits(type: str, variant: str, n_used: int) -> None:
    check_identity(model(type, variant, n_used))


@pytest.mark.slow
def test_nothing_beside_a_request_changes_its_bits_where_a_chunk_begins() -> None:
    engine = open_engine(model("q8_0"), context=CONTEXT)
    prompt, forced = text_tokens(CHUNK - 8, seed=1), text_tokens(16, seed=2)
    expected = logits_of(engine, prompt, forced)
    ours = logits_beside_others(engine, prompt, forced, 3, others_tokens=200)
    engine.close()
    np.testing.assert_array_equal(ours, expected)
