"""Decoded: what routers said to each request, token by token, whatever ran beside it.

A request's routing does not depend on its neighbours, but which of its tokens share a step does. So
one recording serves every run of the same prompts, once it is known which tokens its steps had.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.simulation.record import Routed
from engine.simulation.routing_trace import RoutingTrace


class Decoded:
    """The rows of one recorded run, by request (in the order of their ids) and token."""

    def __init__(self, rows: Routed):
        self._rows = rows
        self._n_layer = len(np.unique(rows["layer"]))
        order = np.lexsort((rows["layer"], rows["step"], rows["request"]))
        _, begins = np.unique(rows["request"][order], return_index=True)
        self._of_request = np.split(order, begins[1:])

    def trace(self, tokens: NDArray[np.int64], *, model: str, record_bytes: int) -> RoutingTrace:
        """The routing of steps in which request r decodes its token number tokens[step, r].

        Raises IndexError for a token that was not recorded.
        """
        jobs = np.arange(self._n_layer)
        rows = np.stack(
            [
                self._of_request[r][tokens[:, r, None] * self._n_layer + jobs]
                for r in range(tokens.shape[1])
            ],
            axis=1,
        )

        def scores(name: str) -> NDArray[Any] | None:
            found: NDArray[Any] = self._rows[name]
            return found[rows] if found.size else None

        return RoutingTrace(
            self._rows["experts"][rows],
            scores("probabilities"),
            scores("lookahead"),
            model,
            record_bytes,
            int(self._rows["probabilities"].shape[1]),
        )
