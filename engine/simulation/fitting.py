"""Least squares with coefficients that are costs, so none may be negative."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

# Of fit_typical: how often, how many times the median distance is far, and what rounding makes.
_N_TRIM = 3
_FAR = 4.0
_SMALL = 1e-6


def fit_costs(columns: Numbers, times: Numbers) -> Numbers:
    """The x >= 0 that brings columns [n, k] @ x [k] nearest to times [n].

    The optimum leaves some columns out and is the ordinary least-squares fit of the others; with
    the few columns there are here, all choices are tried. k is at most 6.
    """
    n_column = columns.shape[1]
    assert n_column <= 6
    best = np.zeros(n_column)
    best_error = float(times @ times)
    # To the same scale, else a column of bytes drowns one of counts.
    scale = np.maximum(np.abs(columns).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    scaled = columns / scale
    for n_used in range(1, n_column + 1):
        for used in combinations(range(n_column), n_used):
            x = np.linalg.lstsq(scaled[:, used], times, rcond=None)[0]
            if (x < 0).any():
                continue
            off = scaled[:, used] @ x - times
            error = float(off @ off)
            if error < best_error * (1 - 1e-12):
                best = np.zeros(n_column)
                best[list(used)] = x / scale[list(used)]
                best_error = error
    return best


def fit_typical(columns: Numbers, times: Numbers) -> Numbers:
    """As fit_costs, of what is typical: times far from the fit are left out, and it is done again.

    A read that the disk delays, or a group whose core another program takes, says nothing about
    what reading and computing cost.
    """
    kept = np.ones(len(times), dtype=np.bool_)
    x = fit_costs(columns, times)
    for _ in range(_N_TRIM):
        off = np.abs(columns @ x - times)
        limit = _FAR * float(np.median(off[kept])) + _SMALL * float(np.abs(times).max(initial=0.0))
        kept = off <= limit
        x = fit_costs(columns[kept], times[kept])
    return x
