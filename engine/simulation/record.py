"""record_trace(): a RoutingTrace of a run on the real engine."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import errors
from engine.bench_decode import decode, rows_of_whole_steps, steps_done
from engine.engine import Engine
from engine.simulation.routing_trace import RoutingTrace
from engine.workloads import prompts

# The arrays of _native.Engine.take_routing.
Routed = dict[str, NDArray[Any]]


def record_trace(
    engine: Engine,
    n_request: int,
    n_step: int,
    *,
    n_lookahead: int = 3,
    prompt_tokens: int = 64,
    workload: str = "short",
    seed: int = 0,
    at_least: int | None = None,
    stepped: Callable[[int], None] = lambda done: None,
) -> RoutingTrace:
    """Decode `n_request` prompts of a workload; the steps that all of them took together.

    `stepped` is told the steps done. Raises EngineError when a request fails, or when these steps
    are fewer than `at_least` (None: half of all): the expert cache is too small for a step without
    waves, or fewer requests than asked for are admitted at once.
    """
    asked = prompts(workload, n_request, prompt_tokens, engine.tokenize)
    rows = record_rows(engine, asked, n_step, seed, n_lookahead, stepped)
    info = engine.info
    trace = trace_of(
        rows,
        n_request,
        model=engine.model.title,
        # Classes of experts may differ in size; a trace has one.
        record_bytes=round(info.experts_total_bytes / info.n_experts_total),
    )
    n_found = 0 if trace is None else trace.n_step
    if trace is None or n_found < (max(1, n_step // 2) if at_least is None else at_least):
        raise errors.EngineError(
            f"Only {n_found} of {n_step} steps had all {n_request} requests active and room for"
            " the experts of each, which is too few",
            "Choose more --steps, fewer --requests or a larger --cache.",
        )
    return trace


def record_rows(
    engine: Engine,
    asked: Sequence[tuple[int, ...]],
    n_step: int,
    seed: int,
    n_lookahead: int,
    stepped: Callable[[int], None] = lambda done: None,
) -> Routed:
    """What the routers said to one request per prompt, in the order in which they said it.

    Raises EngineError when a request fails.
    """
    parts: list[Routed] = []

    def take() -> None:
        routed = engine.take_routing()
        if routed["dropped"]:
            raise errors.EngineError("Routing came faster than it could be kept", "Try again.")
        parts.append(_small(routed))

    def polled(tokens: list[list[int]]) -> None:
        take()
        stepped(steps_done(tokens))

    engine.record_routing(n_lookahead)
    try:
        decode(engine, asked, n_step, seed, polled)
        take()
    finally:
        engine.record_routing(None)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def trace_of(
    routed: Routed, n_request: int, *, model: str, record_bytes: int
) -> RoutingTrace | None:
    """The steps in which exactly `n_request` requests routed to all layers; None without any.

    Requests are numbered by their ids. Layers without experts do not appear.
    """
    order = np.lexsort((routed["layer"], routed["request"], routed["step"]))
    n_layer = len(np.unique(routed["layer"]))
    rows = order[rows_of_whole_steps(routed["step"][order], n_request * n_layer)]
    if len(rows) == 0:
        return None

    def shaped(name: str) -> NDArray[Any]:
        array: NDArray[Any] = routed[name][rows]
        return array.reshape(len(rows), n_request, n_layer, *array.shape[2:])

    has_lookahead = routed["lookahead"].size > 0
    return RoutingTrace(
        shaped("experts"),
        shaped("probabilities"),
        shaped("lookahead") if has_lookahead else None,
        model,
        record_bytes,
        int(routed["probabilities"].shape[1]),
    )


def _small(routed: dict[str, Any]) -> Routed:
    """The arrays, scores in half precision: much routing must fit into memory."""
    return {
        name: array.astype(np.float16) if array.dtype.kind == "f" else array
        for name, array in routed.items()
        if isinstance(array, np.ndarray)
    }
