"""Runs one request per prompt to its end, for measurements."""

import contextlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine import errors, trace
from engine.engine import Engine
from engine.events import Finished, Piece
from engine.request import NO_SESSION, Request, RequestId, SessionId
from engine.sampling import SamplingParams


def decode(
    engine: Engine,
    prompts: Sequence[tuple[int, ...]],
    steps: int,
    seed: int,
    polled: Callable[[list[list[int]]], None],
    sessions: Sequence[SessionId] = (),
    *,
    traced: Callable[[trace.Records], None] = lambda records: None,
) -> list[list[int]]:
    """Every request's tokens (one from its prompt, then one per step).

    `polled` is called with the tokens so far, many times a second, and `traced` with the records
    that came meanwhile: who needs few of them keeps few. With `sessions`, one per prompt, a prompt
    that its session holds already is not computed again. Raises EngineError when a request fails;
    then, and when `polled` raises, the others are ended first.
    """
    engine.drain_events()
    tokens: dict[RequestId, list[int]] = {}
    running: set[RequestId] = set()
    try:
        for at, prompt in enumerate(prompts):
            params = SamplingParams(
                temperature=1, seed=seed + at, max_tokens=steps + 1, ignore_end=True
            )
            session = sessions[at] if sessions else NO_SESSION
            request = engine.submit(Request(tokens=prompt, params=params, session=session))
            tokens[request] = []
            running.add(request)
        while running:
            engine.wait(0.1)
            for event in engine.poll():
                if isinstance(event, Piece):
                    tokens[event.request] += event.tokens
                elif isinstance(event, Finished):
                    running.discard(event.request)
                    if event.reason != "length":
                        detail = event.detail or event.reason
                        raise errors.EngineError(f"A request failed: {detail}")
            polled(list(tokens.values()))
            traced(engine.drain_events())
    except BaseException:
        with contextlib.suppress(errors.EngineError):
            _end(engine, running)
        raise
    return list(tokens.values())


def steps_done(tokens: list[list[int]]) -> int:
    """Decode steps that all requests have behind them, from what decode() tells `polled`."""
    return max(0, min(map(len, tokens)) - 1)


def rows_of_whole_steps(step: NDArray[np.integer], n: int) -> NDArray[np.intp]:
    """[steps, n]: which rows make up each step that has exactly `n`. REQUIRES: `step` is sorted."""
    _, begins, n_rows = np.unique(step, return_index=True, return_counts=True)
    rows: NDArray[np.intp] = begins[n_rows == n][:, None] + np.arange(n)
    return rows


def _end(engine: Engine, running: set[RequestId]) -> None:
    """Cancel these requests and wait, at most half a minute, until they have ended."""
    for request in running:
        engine.cancel(request)
    for _ in range(300):
        if not running:
            return
        engine.wait(0.1)
        running -= {event.request for event in engine.poll() if isinstance(event, Finished)}
