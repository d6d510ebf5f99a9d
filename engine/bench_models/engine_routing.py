"""How a model routes on the real engine: recorded from its trace, whatever its weights are.

A request's experts do not depend on what runs beside it, so one recording serves every number of
requests up to its own.
"""

from collections.abc import Callable

import numpy as np

from engine import errors, trace
from engine.bench_decode import decode, rows_of_whole_steps, steps_done
from engine.bench_models.routing import Routing
from engine.engine import Engine
from engine.trace import Event
from engine.workloads import prompts

_ISSUED = (Event.HIT, Event.JOIN, Event.MISS)


def record_routing(
    engine: Engine,
    n_request: int,
    n_step: int,
    *,
    prompt_tokens: int = 64,
    seed: int = 0,
    stepped: Callable[[int], None] = lambda done: None,
) -> Routing:
    """[steps, requests, layers, experts per token] of the steps that all requests took together.

    Raises EngineError when these are too few: the expert cache is too small for a step without
    waves, or fewer requests than asked for are admitted at once.
    """
    asked = prompts("short", n_request, prompt_tokens, engine.tokenize)
    issued: list[trace.Records] = []
    decode(
        engine,
        asked,
        n_step,
        seed,
        lambda tokens: stepped(steps_done(tokens)),
        traced=lambda records: issued.append(trace.of(records, *_ISSUED)),
    )
    routing = routing_of(np.concatenate(issued), n_request)
    if len(routing) < max(4, n_step // 8):
        raise errors.EngineError(
            f"Only {len(routing)} steps had all {n_request} requests active and room for the"
            " experts of each, which is too few",
            "Choose more --steps, fewer --requests or a larger --cache.",
        )
    return routing


def routing_of(records: trace.Records, n_request: int) -> Routing:
    """The routing of the steps in which exactly `n_request` requests routed to all layers."""
    issued = trace.of(records, *_ISSUED)
    issued = issued[(issued["step"] >= 0) & (issued["request"] >= 0)]
    if len(issued) == 0:
        return np.zeros((0, n_request, 0, 0), dtype=np.int32)
    issued = issued[np.lexsort((issued["layer"], issued["request"], issued["step"]))]
    layers = np.unique(issued["layer"])
    _, per_job = np.unique(issued[["step", "request", "layer"]], return_counts=True)
    n_used = int(per_job.max())
    whole = rows_of_whole_steps(issued["step"], n_request * len(layers) * n_used)
    experts: Routing = issued["expert"][whole].astype(np.int32)
    return experts.reshape(len(whole), n_request, len(layers), n_used)
