"""How the model's routers use the experts, on Runahead's engine."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.bench_models.routing import calibrate
from engine.engine import Engine
from engine.simulation.record import record_rows, trace_of

N_REQUEST, N_STEP = 4, 192
CACHED_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


def expert_use(engine: Engine, asked: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """Of the first `N_REQUEST` prompts, which are answered at once; the model then goes on alone.

    Raises EngineError when a request fails.
    """
    rows = record_rows(engine, asked[:N_REQUEST], N_STEP, seed=0, n_lookahead=1)
    info = engine.info
    record_bytes = round(info.experts_total_bytes / info.n_experts_total)
    trace = trace_of(rows, N_REQUEST, model=engine.model.title, record_bytes=record_bytes)
    assert trace is not None and trace.lookahead is not None
    routing = trace.experts.astype(np.int32)
    # What the router of each layer says about the input of the layer before it.
    foretold = np.zeros_like(routing)
    early = np.argsort(-trace.lookahead[:, :, :-1, 0].astype(np.float32), axis=-1)
    foretold[:, :, 1:] = early[..., : trace.n_used]
    replayed = [calibrate(routing, trace.n_expert, foretold, cached_share=s) for s in CACHED_SHARES]
    uses = np.stack(
        [
            np.bincount(routing[:, :, layer].ravel(), minlength=trace.n_expert)
            for layer in range(trace.n_layer)
        ]
    )
    return {
        "n_request": N_REQUEST,
        "n_step": trace.n_step,
        "n_expert": trace.n_expert,
        "n_used": trace.n_used,
        "record_bytes": record_bytes,
        "lfu_hit": {str(each.cached_share): each.lfu_hit for each in replayed},
        "next_router_recall": replayed[0].prediction_recall,
        "repeat_share": replayed[0].repeat_share,
        "effective_experts": effective(uses),
        "never_used": int((uses == 0).sum()),
    }


def effective(uses: NDArray[np.int64]) -> list[float]:
    """Per layer, how many equally used experts would have the entropy of `uses` [layer, expert]."""
    shares = uses / uses.sum(axis=1, keepdims=True)
    surprise = -np.log(shares, where=shares > 0, out=np.zeros_like(shares))
    return [float(n) for n in np.exp((shares * surprise).sum(axis=1))]
