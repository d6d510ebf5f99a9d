"""qwen3vlmoe: the language model of Qwen3-VL-30B-A3B, for text."""

from pathlib import Path

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import attention, experts, head, vector, write_model

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, HEAD_DIM, N_EXPERT, N_FF = 128, 3, 4, 2, 32, 8, 64


def model(type: str) -> Path:
    tensors = head(N_EMBD)
    for il in range(N_LAYER):
        tensors += [
            vector(f"blk.{il}.attn_norm.weight", N_EMBD),
            *attention(il, N_EMBD, N_HEAD, N_HEAD_KV, HEAD_DIM),
            vector(f"blk.{il}.attn_q_norm.weight", HEAD_DIM),
            vector(f"blk.{il}.attn_k_norm.weight", HEAD_DIM),
            vector(f"blk.{il}.ffn_norm.weight", N_EMBD),
            *experts(il, N_EMBD, N_FF, N_EXPERT),
        ]
    return write_model(
        "qwen3vlmoe",
        {
            "block_count": N_LAYER,
            "context_length": 4096,
            "embedding_length": N_EMBD,
            "attention.head_count": N_HEAD,
            "attention.head_count_kv": N_HEAD_KV,
            "attention.key_length": HEAD_DIM,
            "attention.value_length": HEAD_DIM,
            "attention.layer_norm_rms_epsilon": 1e-6,
            "rope.freq_base": 5e6,
            "rope.dimension_sections": [6, 5, 5, 0],
            "n_deepstack_layers": 2,
            "expert_count": N_EXPERT,
            "expert_used_count": 3,
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
