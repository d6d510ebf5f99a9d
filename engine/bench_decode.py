"""Runs one request per prompt to its end, for measurements."""

from collections.abc import Callable, Sequence

import numpy as np

from engine import errors, trace
from engine.engine import Engine
from engine.events import Finished, Piece
from engine.request import Request, RequestId
from engine.sampling import SamplingParams


def decode(
    engine: Engine,
    prompts: Sequence[tuple[int, ...]],
    steps: int,
    seed: int,
    polled: Callable[[list[list[int]]], None],
) -> tuple[list[list[int]], trace.Records]:
    """Every request's tokens (one from its prompt, then one per step), and the trace meanwhile.

    `polled` is called with the tokens so far, many times a second. Raises EngineError when a
    request fails.
    """
    engine.drain_events()
    tokens: dict[RequestId, list[int]] = {}
    for at, prompt in enumerate(prompts):
        params = SamplingParams(
            temperature=1, seed=seed + at, max_tokens=steps + 1, ignore_end=True
        )
        tokens[engine.submit(Request(tokens=prompt, params=params))] = []
    running = set(tokens)
    records = []
    while running:
        engine.wait(0.1)
        for event in engine.poll():
            if isinstance(event, Piece):
                tokens[event.request] += event.tokens
            elif isinstance(event, Finished):
                if event.reason != "length":
                    raise errors.EngineError(f"A request failed: {event.detail or event.reason}")
                running.discard(event.request)
        polled(list(tokens.values()))
        records.append(engine.drain_events())
    return list(tokens.values()), np.concatenate(records)
