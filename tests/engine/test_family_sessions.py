"""Sessions of families whose state cannot be rewound like keys and values: delta nets, short
convolutions."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from engine._native import Engine
from tests.helpers.delta_net_models import delta_net_model
from tests.helpers.native_runs import finish, open_engine, text_tokens
from tests.helpers.short_convolution_models import short_convolution_model

PROMPT = text_tokens(60, seed=1)
REPLY = text_tokens(20, seed=2)
MODELS = {
    "qwen35moe": partial(delta_net_model, "qwen35moe"),
    "qwen3next": partial(delta_net_model, "qwen3next"),
    "lfm2moe": short_convolution_model,
}


@pytest.fixture(params=MODELS)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    opened = open_engine(MODELS[request.param](), prefill_chunk=16)
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


def test_an_edited_prompt_gives_what_a_fresh_one_gives(engine: Engine) -> None:
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
