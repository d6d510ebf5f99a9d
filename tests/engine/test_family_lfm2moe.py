"""lfm2moe: LFM2-8B-A1B, LFM2-24B-A2B."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    Tensor,
    attention,
    bias,
    experts,
    gated_ffn,
    head,
    matrix,
    qk_norms,
    usual_settings,
    vector,
    write_model,
)
from tests.helpers.native_runs import finish, open_engine, text_tokens

N_EMBD, N_HEAD, N_HEAD_KV, HEAD_DIM, N_EXPERT, N_FF, N_DENSE, KERNEL = 128, 4, 2, 32, 8, 64, 96, 3
HAS_ATTENTION = [False, True, False, False]


def model(type: str) -> Path:
    n_head_kv = [N_HEAD_KV * has for has in HAS_ATTENTION]
    tensors = head(N_EMBD, tied=True)
    tensors[1] = vector("token_embd_norm.weight", N_EMBD)
    for il, has_attention in enumerate(HAS_ATTENTION):
        tensors += [
            vector(f"blk.{il}.attn_norm.weight", N_EMBD),
            vector(f"blk.{il}.ffn_norm.weight", N_EMBD),
            *(_attention(il) if has_attention else _convolution(il)),
        ]
        if il == 0:
            tensors += gated_ffn(il, N_EMBD, N_DENSE)
        else:
            tensors += experts(il, N_EMBD, N_FF, N_EXPERT)
            tensors.append(bias(f"blk.{il}.exp_probs_b.bias", N_EXPERT))
    return write_model(
        "lfm2moe",
        usual_settings(len(HAS_ATTENTION), N_EMBD, N_HEAD, n_head_kv, N_EXPERT, 3)
        | {
            "feed_forward_length": N_DENSE,
            "attention.layer_norm_rms_epsilon": 1e-5,
            "rope.freq_base": 1e6,
            "shortconv.l_cache": KERNEL,
            "leading_dense_block_count": 1,
            "expert_feed_forward_length": N_FF,
            "expert_gating_func": 2,
        },
        tensors,
        type,
    )


def _attention(il: int) -> list[Tensor]:
    return [
        *attention(il, N_EMBD, N_HEAD, N_HEAD_KV, HEAD_DIM),
        *qk_norms(il, HEAD_DIM, HEAD_DIM),
    ]


def _convolution(il: int) -> list[Tensor]:
    p = f"blk.{il}.shortconv."
    return [
        Tensor(f"{p}conv.weight", (KERNEL, N_EMBD), 0.6, 0.1, True),
        matrix(f"{p}in_proj.weight", N_EMBD, 3 * N_EMBD),
        matrix(f"{p}out_proj.weight", N_EMBD, N_EMBD),
    ]


def test_f32_matches_llama_cpp() -> None:
    check_parity(model("f32"), F32_LIMIT)


@pytest.mark.parametrize("type", ["q4_0", "q8_0"])
def test_quantised_matches_llama_cpp(type: str) -> None:
    check_parity(model(type), QUANTISED_LIMIT)


def test_nothing_beside_a_request_changes_its_bits() -> None:
    check_identity(model("q4_0"))


def test_the_same_prompt_again_gives_the_same_bits() -> None:
    engine = open_engine(model("f32"))
    session = engine.open_session()
    replies = []
    for _ in range(3):
        request = engine.submit(
            text_tokens(50, seed=1),
            session=session,
            forced=text_tokens(10, seed=2),
            max_tokens=10,
            keep_logits=True,
            ignore_end=True,
        )
        finish(engine, [request])
        replies.append(engine.take_logits(request)[-11:])
    engine.close()
    np.testing.assert_array_equal(replies[1], replies[0])
    np.testing.assert_array_equal(replies[2], replies[0])
