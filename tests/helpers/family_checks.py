"""What must hold for every family: the same numbers as llama.cpp, and the same bits as itself."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine._native import Engine
from tests.helpers.llama_reference import reference_logits
from tests.helpers.native_runs import finish, logits_of, open_engine, text_tokens

# Normalised mean squared error that rounding may make.
F32_LIMIT = 1e-6
QUANTISED_LIMIT = 1e-3

PROMPT = text_tokens(40, seed=1)
FORCED = text_tokens(10, seed=2)


def errors(ours: NDArray[np.float32], reference: NDArray[np.float32]) -> NDArray[np.float64]:
    """Mean squared error of each position, relative to the reference's mean square."""
    return np.mean((ours - reference) ** 2, axis=1, dtype=np.float64) / np.mean(reference**2)


def check_first_choices(ours: NDArray[np.float32], reference: NDArray[np.float32]) -> None:
    """Where the reference is surer of its first token than the noise, ours is the same."""
    noise = 2 * np.abs(ours - reference).max(axis=1)
    two_best = np.sort(reference, axis=1)[:, -2:]
    sure = two_best[:, 1] - two_best[:, 0] > noise
    assert sure.mean() > 0.5
    assert (ours.argmax(axis=1) == reference.argmax(axis=1))[sure].all()


def check_parity(
    model: Path,
    limit: float,
    n_prompt: int = 96,
    n_decode: int = 32,
    close_calls: float = 0.0,
    **options: Any,
) -> None:
    """Logits of a prefill, and of a decode that goes on from it, match llama.cpp's everywhere.

    `close_calls` is the share of positions where they need not, because rounding may decide there
    which expert a router takes. (So it does for llama.cpp: with Q4_K and Q6_K mixed, it differs by
    up to 0.05 from itself when the prompt comes token by token.)
    """
    tokens = text_tokens(n_prompt + n_decode, seed=3)
    reference = reference_logits(model, tokens[:n_prompt], tokens[n_prompt:])
    assert np.isfinite(reference).all()
    assert reference.std() > 0.1
    engine = open_engine(model, **options)
    ours = logits_of(engine, tokens[:n_prompt], forced=tokens[n_prompt:])
    engine.close()
    error = errors(ours, reference)
    print(
        f"NMSE at most {error[:n_prompt].max():.2e} in prefill, {error[n_prompt:].max():.2e} after"
    )
    assert np.quantile(error, 1 - close_calls) <= limit
    check_first_choices(ours, reference)


def check_identity(model: Path) -> None:
    """A request has the same bits alone, in company, with a small cache, by any policy."""
    engine = open_engine(model)
    expected = logits_of(engine, PROMPT, FORCED)
    for n in (2, 3, 8):
        _same(_beside_others(engine, n), expected, f"{n} requests")
    engine.close()
    ways: list[dict[str, Any]] = [
        {"policy": "bevy", "n_readers": 8},
        {"policy": "lockstep-lru", "n_readers": 1},
        {"policy": "specmd", "staged": True},
    ]
    for options in ways:
        engine = open_engine(model, **options)
        smallest = engine.info()["min_cache_bytes"]
        for size in (smallest, 5 * smallest):
            engine.set_cache(size)
            _same(_beside_others(engine, 4), expected, f"{options}, {size} bytes of cache")
        engine.close()


def _same(ours: NDArray[np.float32], expected: NDArray[np.float32], how: str) -> None:
    np.testing.assert_array_equal(ours, expected, err_msg=how)


def _beside_others(engine: Engine, n: int) -> NDArray[np.float32]:
    return logits_beside_others(engine, PROMPT, FORCED, n, others_tokens=20)


def logits_beside_others(
    engine: Engine, prompt: list[int], forced: list[int], n: int, others_tokens: int
) -> NDArray[np.float32]:
    """A request's logits, decoded with n - 1 others of other lengths, `others_tokens` of each."""
    options: dict[str, Any] = {"keep_logits": True, "ignore_end": True}
    others = [
        engine.submit(
            text_tokens(5 + 17 * i, seed=10 + i),
            max_tokens=others_tokens,
            forced=text_tokens(others_tokens, seed=i),
            **options,
        )
        for i in range(n - 1)
    ]
    request = engine.submit(prompt, forced=forced, max_tokens=len(forced), **options)
    finish(engine, [request, *others])
    for other in others:
        engine.take_logits(other)
    return engine.take_logits(request)
