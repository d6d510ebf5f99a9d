"""simulate(): the engine's own scheduler and cache on a virtual clock, over a recorded routing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import errors, native
from engine.simulation.machine import MachineModel
from engine.simulation.routing_trace import RoutingTrace
from engine.trace import Records, from_bytes

STEP_DTYPE = np.dtype(
    [
        ("step_ms", np.float64),
        ("compute_ms", np.float64),  # the device is busy
        ("link_ms", np.float64),  # some read is in flight
        ("both_ms", np.float64),
        ("requests", np.int64),
        ("fetched", np.int64),  # experts read, prefetches included
        ("prefetched", np.int64),
        ("wasted", np.int64),  # prefetches that no job of this step used
        ("hit", np.int64),
        ("joined", np.int64),
        ("groups", np.int64),
    ]
)


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """What one policy did on one machine; nothing of it was measured.

    Attributes:
        steps: STEP_DTYPE [n_step].
        group_sizes: [n_step, n_request + 1], how many groups had 0, 1, 2 ... jobs.
        records: The trace that an engine would have written, in virtual time; empty unless
            asked for.
    """

    policy: str
    machine: str
    cache_fraction: float
    steps: NDArray[np.void]
    group_sizes: NDArray[np.int64]
    records: Records

    def mean(self, field: str, skip: int | None = None) -> float:
        """Mean per step of a field, without the first `skip` steps (default: half) of warm-up."""
        return float(np.mean(self._warm(skip)[field]))

    def tokens_per_s(self, skip: int | None = None) -> float:
        """Over the steps after the warm-up."""
        warm = self._warm(skip)
        ms = float(warm["step_ms"].sum())
        return 1e3 * float(warm["requests"].sum()) / ms if ms > 0 else 0.0

    def hit_rate(self, skip: int | None = None) -> float:
        """Share of needed experts that were resident, after the warm-up."""
        warm = self._warm(skip)
        missed = warm["fetched"] - warm["prefetched"]
        needed = float((warm["hit"] + warm["joined"] + missed).sum())
        return float(warm["hit"].sum()) / needed if needed else 0.0

    def _warm(self, skip: int | None) -> NDArray[np.void]:
        skip = len(self.steps) // 2 if skip is None else skip
        if not 0 <= skip < len(self.steps):
            raise errors.InvalidRequestError(
                f"All {len(self.steps)} simulated steps would be left out as warm-up ({skip})"
            )
        return self.steps[skip:]


def simulate(
    trace: RoutingTrace,
    *,
    machine: MachineModel,
    policy: str,
    cache_fraction: float,
    n_request: int | None = None,
    timeline: bool = False,
) -> SimulatedRun:
    """Run the first `n_request` requests (default: all) of a trace from a cold cache.

    `policy` is a preset or five names, in which the eviction may be "belady". Raises
    InvalidRequestError when something does not fit: an unknown policy, a cache with fewer slots
    than requests x experts per token, scores that the policy needs and the trace has not.
    """
    if not 0 < cache_fraction <= 1:
        raise errors.InvalidRequestError(f"A cache of {cache_fraction} of the experts")
    used = trace.first(trace.n_request if n_request is None else n_request)
    with native.translated():
        found = native.simulate(
            used.experts,
            n_expert=used.n_expert,
            probabilities=used.probabilities,
            lookahead=used.lookahead,
            policy=policy,
            slots=slots_for(trace, cache_fraction),
            record_bytes=used.record_bytes,
            front_ms=machine.front_ms,
            front_request_ms=machine.front_request_ms,
            group_ms=machine.group_ms,
            expert_ms=machine.expert_ms,
            job_ms=machine.job_ms,
            head_ms=machine.head_ms,
            head_request_ms=machine.head_request_ms,
            link_bytes_per_s=machine.link_bytes_per_s,
            link_in_order=machine.link_in_order,
            link_latency_ms=machine.link_latency_ms,
            n_readers=machine.n_readers,
            interference=machine.interference,
            timeline=timeline,
        )
    group_sizes = found["group_sizes"].astype(np.int64)
    steps = np.zeros(used.n_step, dtype=STEP_DTYPE)
    for name in STEP_DTYPE.names or ():
        steps[name] = group_sizes.sum(axis=1) if name == "groups" else found[name]
    return SimulatedRun(
        policy=policy,
        machine=machine.name,
        cache_fraction=cache_fraction,
        steps=steps,
        group_sizes=group_sizes,
        records=from_bytes(found["records"]),
    )


def slots_for(trace: RoutingTrace, cache_fraction: float) -> int:
    """As many as the engine takes for that share of all experts."""
    return int(cache_fraction * trace.n_layer * trace.n_expert + 0.5)
