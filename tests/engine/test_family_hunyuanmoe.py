"""hunyuan-moe: Hunyuan-A13B."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    gated_ffn,
    head,
    matrix,
    usual_layer,
    usual_settings,
    write_model,
)

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, HEAD_DIM, N_EXPERT, N_FF = 128, 3, 4, 2, 32, 8, 64


def model(type: str, *, fused_qkv: bool = False) -> Path:
    tensors = head(N_EMBD, tied=True)
    for il in range(N_LAYER):
        layer = usual_layer(il, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF, qk_norm=HEAD_DIM)
        if fused_qkv:
            apart = [f"blk.{il}.attn_{part}.weight" for part in "qkv"]
            layer = [each for each in layer if each.name not in apart]
            width = HEAD_DIM * (N_HEAD + 2 * N_HEAD_KV)
            layer.append(matrix(f"blk.{il}.attn_qkv.weight", N_EMBD, width))
        tensors += [*layer, *gated_ffn(il, N_EMBD, 2 * N_FF, "_shexp")]
    return write_model(
        "hunyuan-moe",
        usual_settings(N_LAYER, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, 3)
        | {
            "feed_forward_length": N_FF,
            "attention.key_length": HEAD_DIM,
            "attention.value_length": HEAD_DIM,
            "attention.layer_norm_rms_epsilon": 1e-5,
            "rope.freq_base": 10000.0,
            "expert_feed_forward_length": N_FF,
            "expert_shared_feed_forward_length": 2 * N_FF,
        },
        tensors,
        type,
    )


def test_f32_matches_llama_cpp() -> None:
    check_parity(model("f32"), F32_LIMIT)


def test_q_k_and_v_in_one_matrix_match_llama_cpp() -> None:
    check_parity(model("f32", fused_qkv=True), F32_LIMIT)


@pytest.mark.parametrize("type", ["q4_0", "q8_0"])
def test_quantised_matches_llama_cpp(type: str) -> None:
    check_parity(model(type), QUANTISED_LIMIT)


def test_nothing_beside_a_request_changes_its_bits() -> None:
    check_identity(model("q4_0"))
