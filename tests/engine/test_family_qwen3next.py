"""qwen35moe and qwen3next: Qwen3.5 and Qwen3.6 MoE, Qwen3-Next; and sessions whose state cannot be
rewound like keys and values."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine._native import Engine
from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.family_models import (
    Tensor,
    attention,
    bias,
    draft_ends,
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

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, HEAD_DIM, N_EXPERT, N_FF = 128, 4, 4, 2, 32, 8, 64
N_K_HEAD, N_V_HEAD, STATE, KERNEL = 2, 4, 32, 4
KEYS, INNER = N_K_HEAD * STATE, N_V_HEAD * STATE
CHANNELS = 2 * KEYS + INNER


def model(family: str, type: str = "f32", variant: str = "") -> Path:
    """Variants: fused (gate and up of experts in one matrix, recurrent layers listed, a draft layer
    behind the others), legacy (qwen3next with q, k, v, z in one matrix)."""
    settings = usual_settings(N_LAYER, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, 3) | {
        "attention.key_length": HEAD_DIM,
        "attention.value_length": HEAD_DIM,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
        "rope.dimension_count": HEAD_DIM // 2,
        "expert_feed_forward_length": N_FF,
        "expert_shared_feed_forward_length": N_FF,
        "ssm.conv_kernel": KERNEL,
        "ssm.inner_size": INNER,
        "ssm.state_size": STATE,
        "ssm.time_step_rank": N_V_HEAD,
        "ssm.group_count": N_K_HEAD,
    }
    recurrent = [il % 2 == 0 for il in range(N_LAYER)]
    if family == "qwen35moe":
        settings["rope.dimension_sections"] = [3, 3, 2, 0]
    if variant == "fused":
        settings["attention.recurrent_layers"] = [*recurrent, False]
        settings["block_count"] = N_LAYER + 1
        settings["nextn_predict_layers"] = 1
    else:
        settings["full_attention_interval"] = 2
    tensors = head(N_EMBD, tied=variant == "fused")
    for il in range(N_LAYER):
        tensors += [
            vector(f"blk.{il}.attn_norm.weight", N_EMBD),
            vector(f"blk.{il}.post_attention_norm.weight", N_EMBD),
            *(_delta_net(il, family, variant) if recurrent[il] else _attention(il)),
            *_moe(il, variant),
        ]
    if variant == "fused":
        tensors += _draft_layer(N_LAYER, variant)
    return write_model(family, settings, tensors, type)


def _attention(il: int) -> list[Tensor]:
    p = f"blk.{il}."
    return [
        matrix(f"{p}attn_q.weight", N_EMBD, 2 * N_HEAD * HEAD_DIM),
        *attention(il, N_EMBD, N_HEAD, N_HEAD_KV, HEAD_DIM)[1:],
        *qk_norms(il, HEAD_DIM, HEAD_DIM),
    ]


def _delta_net(il: int, family: str, variant: str) -> list[Tensor]:
    p = f"blk.{il}."
    projections = [
        matrix(f"{p}attn_qkv.weight", N_EMBD, CHANNELS),
        matrix(f"{p}attn_gate.weight", N_EMBD, INNER),
    ]
    if variant == "legacy":
        projections = [matrix(f"{p}ssm_in.weight", N_EMBD, CHANNELS + INNER)]
    if family == "qwen35moe":
        projections += [
            matrix(f"{p}ssm_beta.weight", N_EMBD, N_V_HEAD),
            matrix(f"{p}ssm_alpha.weight", N_EMBD, N_V_HEAD),
        ]
    else:
        projections.append(matrix(f"{p}ssm_ba.weight", N_EMBD, 2 * N_V_HEAD))
    return [
        *projections,
        Tensor(f"{p}ssm_conv1d.weight", (KERNEL, CHANNELS), 0.6, 0.1, True),
        bias(f"{p}ssm_dt.bias", N_V_HEAD),
        vector(f"{p}ssm_a", N_V_HEAD, mean=-0.3, spread=0.08),
        vector(f"{p}ssm_norm.weight", STATE),
        matrix(f"{p}ssm_out.weight", INNER, N_EMBD),
    ]


def _moe(il: int, variant: str) -> list[Tensor]:
    return [
        *experts(il, N_EMBD, N_FF, N_EXPERT, fused=variant == "fused"),
        *gated_ffn(il, N_EMBD, N_FF, "_shexp"),
        vector(f"blk.{il}.ffn_gate_inp_shexp.weight", N_EMBD, mean=0.0),
    ]


def _draft_layer(il: int, variant: str) -> list[Tensor]:
    p = f"blk.{il}."
    return [
        vector(f"{p}attn_norm.weight", N_EMBD),
        vector(f"{p}post_attention_norm.weight", N_EMBD),
        *_attention(il),
        *_moe(il, variant),
        *draft_ends(il, N_EMBD),
    ]


MODELS = [("qwen35moe", ""), ("qwen35moe", "fused"), ("qwen3next", ""), ("qwen3next", "legacy")]


@pytest.mark.parametrize(("family", "variant"), MODELS)
def test_f32_matches_llama_cpp(family: str, variant: str) -> None:
    check_parity(model(family, "f32", variant), F32_LIMIT)


@pytest.mark.parametrize("family", ["qwen35moe", "qwen3next"])
@pytest.mark.parametrize("type", ["q4_0", "q8_0"])
def test_quantised_matches_llama_cpp(family: str, type: str) -> None:
    check_parity(model(family, type), QUANTISED_LIMIT)


@pytest.mark.parametrize("family", ["qwen35moe", "qwen3next"])
def test_nothing_beside_a_request_changes_its_bits(family: str) -> None:
    check_identity(model(family, "q4_0"))


PROMPT = text_tokens(60, seed=1)
REPLY = text_tokens(20, seed=2)


@pytest.fixture
def engine() -> Any:
    opened = open_engine(model("qwen35moe"), prefill_chunk=16)
    yield opened
    opened.close()


def ask(
    engine: Engine, session: int, prompt: list[int], reply: list[int]
) -> tuple[NDArray[np.float32], int]:
    """Logits of the last prompt token and the reply, and how many prompt tokens were computed."""
    request = engine.submit(
        prompt,
        session=session,
        forced=reply,
        max_tokens=len(reply),
        keep_logits=True,
        ignore_end=True,
    )
    ended = finish(engine, [request])[request]
    assert ended.reason == "length", ended.detail
    logits = engine.take_logits(request)
    return logits[-len(reply) - 1 :], len(logits) - len(reply)


def test_the_same_prompt_again_computes_its_tail_only_and_gives_the_same_bits(
    engine: Engine,
) -> None:
    session = engine.open_session()
    first, n_computed = ask(engine, session, PROMPT, REPLY)
    assert n_computed == len(PROMPT)
    for _ in range(3):
        again, n_computed = ask(engine, session, PROMPT, REPLY)
        np.testing.assert_array_equal(again, first)
        assert n_computed == 4


def test_a_chat_that_goes_on_computes_its_new_tokens_only(engine: Engine) -> None:
    session = engine.open_session()
    ask(engine, session, PROMPT, REPLY)
    longer = PROMPT + REPLY + text_tokens(30, seed=3)
    continued, n_computed = ask(engine, session, longer, REPLY)
    assert n_computed == 30
    fresh, _ = ask(engine, engine.open_session(), longer, REPLY)
    assert np.mean((continued - fresh) ** 2) <= 1e-6 * np.mean(fresh**2)


def test_an_edited_prompt_gives_the_bits_of_a_fresh_one(engine: Engine) -> None:
    session = engine.open_session()
    ask(engine, session, PROMPT, REPLY)
    ask(engine, session, PROMPT + REPLY + text_tokens(30, seed=3), REPLY)
    for n_kept in (58, 30, 0):
        edited = PROMPT[:n_kept] + text_tokens(20, seed=4)
        ours, _ = ask(engine, session, edited, REPLY)
        fresh, _ = ask(engine, engine.open_session(), edited, REPLY)
        assert np.mean((ours - fresh) ** 2) <= 1e-6 * np.mean(fresh**2)


@pytest.mark.parametrize("n_tokens", [0, 1, 7])
def test_a_cancelled_reply_leaves_the_session_whole(engine: Engine, n_tokens: int) -> None:
    expected, _ = ask(engine, engine.open_session(), PROMPT, REPLY)
    session = engine.open_session()
    request = engine.submit(PROMPT, session=session, max_tokens=200, ignore_end=True)
    seen = 0
    while seen < n_tokens:
        assert engine.wait(10.0)
        seen += sum(event[1] == "token" for event in engine.poll())
    engine.cancel(request)
    assert finish(engine, [request])[request].reason == "cancelled"
    again, _ = ask(engine, session, PROMPT, REPLY)
    assert np.mean((again - expected) ** 2) <= 1e-6 * np.mean(expected**2)
