"""Series: what is plotted of a run over its steps."""

import numpy as np
from numpy.typing import NDArray

from engine.metrics import Steps

Floats = NDArray[np.float64]

# Curves of many steps are drawn through means of so many neighbours at most.
POINTS = 600


def hit_rates(steps: Steps) -> Floats:
    """Percent of the needed experts that were resident, per step."""
    needed = (steps["hits"] + steps["misses"] + steps["joined"]).astype(np.float64)
    rates: Floats = 100.0 * steps["hits"] / np.maximum(needed, 1)
    return rates


def token_rates(steps: Steps) -> Floats:
    """Tokens per second while each step ran."""
    rates: Floats = 1e3 * steps["requests"] / np.maximum(steps["step_ms"], 1e-6)
    return rates


def shares(steps: Steps) -> tuple[Floats, Floats, Floats, Floats]:
    """Percent of each step in which both, only the link, only compute and neither were busy."""
    whole = np.maximum(steps["step_ms"], 1e-6)
    both = 100.0 * steps["both_busy_ms"] / whole
    link = 100.0 * (steps["link_busy_ms"] - steps["both_busy_ms"]) / whole
    compute = 100.0 * (steps["compute_busy_ms"] - steps["both_busy_ms"]) / whole
    return both, link, compute, np.maximum(0.0, 100.0 - both - link - compute)


def thinned(values: Floats, points: int = POINTS) -> tuple[Floats, Floats]:
    """(positions, means) of at most so many equal stretches, in their middles."""
    n = len(values)
    if n <= points:
        return np.arange(n, dtype=np.float64), values.astype(np.float64)
    edges = np.linspace(0, n, points + 1).astype(np.int64)
    sums = np.add.reduceat(values.astype(np.float64), edges[:-1])
    counts = np.diff(edges)
    return (edges[:-1] + edges[1:] - 1) / 2.0, sums / counts
