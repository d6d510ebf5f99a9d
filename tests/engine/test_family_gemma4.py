"""gemma4: Gemma 4 26B-A4B."""

from pathlib import Path

import pytest

from engine._native import inspect
from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    Tensor,
    experts,
    gated_ffn,
    head,
    matrix,
    usual_settings,
    vector,
    write_model,
)
from tests.helpers.quantised_mixes import q4_k_m

N_LAYER, N_HEAD, N_EXPERT, N_FF, N_DENSE = 4, 4, 8, 64, 96
WINDOW = 24
IS_WINDOW = [True, True, False, True]


def model(type: str, variant: str = "26b") -> Path:
    """Variants: 26b is as the published file: fused gate and up, scales per expert, full layers
    without V. plain has none of that, and layers without experts, in the middle and last."""
    full = variant == "26b"
    n_embd = 256 if type == "q4_k_m" else 128  # whole blocks of most of its types
    head_dims = [32 if window else 64 for window in IS_WINDOW]
    n_head_kv = [2 if window else 1 for window in IS_WINDOW]
    settings = usual_settings(N_LAYER, n_embd, N_HEAD, n_head_kv, N_EXPERT, 3) | {
        "embedding_length_per_layer_input": 0,
        "feed_forward_length": N_DENSE,
        "attention.key_length": 64,
        "attention.value_length": 64,
        "attention.key_length_swa": 32,
        "attention.value_length_swa": 32,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.sliding_window": WINDOW,
        "attention.sliding_window_pattern": IS_WINDOW,
        "attention.shared_kv_layers": 0,
        "rope.freq_base": 1e6,
        "rope.freq_base_swa": 10000.0,
        "rope.dimension_count": 64,
        "rope.dimension_count_swa": 32,
        "final_logit_softcapping": 30.0,
        "expert_feed_forward_length": N_FF,
    }
    # The embedding is scaled by the root of its length; as the head it should not be too loud.
    tensors = head(n_embd, tied=full, spread=n_embd**-0.5)
    tensors.append(vector("rope_freqs.weight", 32, mean=4.0))
    for il, window in enumerate(IS_WINDOW):
        p = f"blk.{il}."
        width = head_dims[il]
        tensors += [
            *(
                vector(f"{p}{name}.weight", n_embd)
                for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
            ),
            matrix(f"{p}attn_q.weight", n_embd, N_HEAD * width),
            matrix(f"{p}attn_k.weight", n_embd, n_head_kv[il] * width),
            vector(f"{p}attn_q_norm.weight", width, mean=0.4),
            vector(f"{p}attn_k_norm.weight", width, mean=0.4),
            matrix(f"{p}attn_output.weight", N_HEAD * width, n_embd),
            *gated_ffn(il, n_embd, N_DENSE),
        ]
        if window or not full:
            tensors.append(matrix(f"{p}attn_v.weight", n_embd, n_head_kv[il] * width))
        if full:
            tensors.append(vector(f"{p}layer_output_scale.weight", 1, mean=0.7))
        if full or il not in (1, N_LAYER - 1):
            tensors += _experts(il, n_embd, full)
    types = q4_k_m(tensors, N_LAYER) if type == "q4_k_m" else {}
    return write_model("gemma4", settings, tensors, "" if types else type, types=types)


def _experts(il: int, n_embd: int, full: bool) -> list[Tensor]:
    p = f"blk.{il}."
    tensors = [
        # The router's input is scaled by 1 / sqrt(n_embd), which real scales make up for.
        vector(f"{p}ffn_gate_inp.scale", n_embd, mean=n_embd**0.5, spread=2.0),
        *experts(il, n_embd, N_FF, N_EXPERT, fused=full),
        *(
            vector(f"{p}{name}.weight", n_embd)
            for name in ("pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2")
        ),
    ]
    if full:
        tensors.append(vector(f"{p}ffn_down_exps.scale", N_EXPERT))
    return tensors


@pytest.mark.parametrize("variant", ["26b", "plain"])
def test_f32_matches_llama_cpp(variant: str) -> None:
    check_parity(model("f32", variant), F32_LIMIT)


@pytest.mark.parametrize("type", ["q4_0", "q8_0"])
def test_quantised_matches_llama_cpp(type: str) -> None:
    check_parity(model(type), QUANTISED_LIMIT)


def test_types_that_differ_by_layer_match_llama_cpp() -> None:
    path = model("q4_k_m")
    assert len(inspect(str(path))["expert_bytes"]) == 2
    check_parity(path, QUANTISED_LIMIT, close_calls=0.1)


@pytest.mark.parametrize(
    ("type", "variant"),
    [("f32", "26b"), ("q4_0", "26b"), ("q4_k_m", "26b"), ("f32", "plain"), ("q4_0", "plain")],
)
def test_nothing_beside_a_request_changes_its_bits(type: str, variant: str) -> None:
    check_identity(model(type, variant))
