"""A data source for studies that makes up its runs: plausible, deterministic, at once."""

import zlib

import numpy as np
from numpy.typing import NDArray

from engine import errors
from engine.bench_plan import BenchCase
from engine.room import least_share
from engine.simulation.routing_trace import RoutingTrace
from engine.study.estimate import ModelSize
from engine.study.results import CaseResult, Kind, Origin, StepColumns
from engine.study.scope import Scope
from engine.study.source import Stepped

N_LAYER, N_EXPERT, N_USED = 12, 32, 4


def fake_routing(n_step: int = 24, n_request: int = 8, seed: int = 1) -> RoutingTrace:
    """Requests have tastes that drift; a router asked early sees the truth through noise."""
    rng = np.random.default_rng(seed)
    shape = (n_request, N_LAYER, N_EXPERT)
    taste = rng.normal(size=shape) + 1.5 * rng.normal(size=(1, N_LAYER, N_EXPERT))
    logits = np.empty((n_step, *shape))
    for step in range(n_step):
        taste += 0.3 * rng.normal(size=shape)
        logits[step] = 1.5 * (taste + 0.8 * rng.normal(size=shape))
    experts = np.argsort(-logits, axis=3)[..., :N_USED].astype(np.int16)
    lookahead = np.zeros((n_step, n_request, N_LAYER, 3, N_EXPERT), dtype=np.float16)
    for ahead in range(3):
        noisy = logits[:, :, 1 + ahead :] + (1 + ahead) * rng.normal(
            size=logits[:, :, 1 + ahead :].shape
        )
        lookahead[:, :, : N_LAYER - 1 - ahead, ahead] = _softmax(noisy)
    return RoutingTrace(experts, _softmax(logits), lookahead, "Fake", 2_650_000)


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float16]:
    found = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (found / found.sum(axis=-1, keepdims=True)).astype(np.float16)


class FakeSource:
    """Knows the policies of `known` (None: all); `made` has the cases that were run, in order."""

    def __init__(self, scope: Scope, known: set[str] | None = None, max_requests: int = 16):
        self._scope = scope
        self._known = known
        self.max_requests = max_requests
        self.size = ModelSize(N_LAYER, N_EXPERT, N_USED, 2_650_000)
        self.made: list[BenchCase] = []
        self.fails: set[str] = set()
        self.stops_after: int | None = None
        self.origin = fake_origin(scope.kind)

    def check(self, policy: str) -> None:
        if self._known is not None and policy not in self._known:
            raise errors.InvalidRequestError(f'unknown policy "{policy}"')

    def share_for(self, n_requests: int) -> float:
        return least_share(n_requests, N_USED, [N_LAYER * N_EXPERT])

    def run(self, case: BenchCase, stepped: Stepped) -> CaseResult:
        stepped(1)
        if self.stops_after is not None and len(self.made) >= self.stops_after:
            raise KeyboardInterrupt
        if case.policy in self.fails:
            raise errors.EngineError("expert 3 of layer 1 cannot be read")
        self.made.append(case)
        return fake_result(case, self._scope)

    def routing(self, stepped: Stepped) -> RoutingTrace:
        return fake_routing()


def fake_origin(kind: Kind) -> Origin:
    return Origin(
        kind=kind,
        model="Fake 30B-A3B",
        fingerprint="1234",
        experts="12 layers of 32 experts, 4 per token, 2.65 MB each",
        record_bytes=2_650_000,
        machine="Intel CPU, 2 cores, 16 GB memory, Linux on x86_64",
        source="made up for a test" if kind == "simulated" else "",
        settings={"store": "pack", "measured steps": "8"},
    )


def fake_result(case: BenchCase, scope: Scope) -> CaseResult:
    """Times of a simple model: lockstep adds compute and fetch, others overlap them."""
    rng = np.random.default_rng(zlib.crc32(repr((case, "seed")).encode()))
    n, cache = case.requests, case.cache.fraction or 1.0
    link = case.link.bytes_per_s or 4_500_000_000
    ahead = not case.policy.startswith(("llama", "lockstep", "specmd", "fine", "pro", "pre", "mix"))
    guesses = case.policy.endswith(("specmd", "finemoe", "promoe", "prescope", "prefetch"))
    hits = cache**0.55 * (0.6 if case.policy in ("llama.cpp", "mixtral-offloading") else 1)
    needed = N_LAYER * 128 * (1 - (1 - 8 / 128) ** (0.75 * n))
    demand = (needed * (1 - hits) * rng.normal(1, 0.12, scope.steps)).clip(1)
    demand = demand.astype(int)
    guessed = (demand * (0.3 if guesses else 0)).astype(int)
    wasted = guessed // 2
    fetched = demand - (guessed - wasted) + guessed
    groups = case.policy.split("/")[0].count(":") or (0.6 * n if ahead else 1)
    compute = 20 + needed * 0.16 * (1 + 0.12 * (groups - 1)) + rng.normal(0, 1, scope.steps)
    fifo = 1.08 if case.policy.startswith("runahead/fifo") else 1.0
    compute *= fifo
    read = fetched * 2_650_000 / link * 1e3
    overlap = 0.9 if ahead else 0.35 if guesses else 0.0
    both = overlap * np.minimum(compute, read)
    step = compute + read - both + 2
    return CaseResult(
        case=case,
        tokens_per_s=1e3 * n / float(step.mean()),
        hit_rate=hits,
        link_gbps=link / 1e9,
        groups_of_size=[0, 60, 25, 10, 5, 2][: n + 1] if ahead else [0] * n + [12],
        steps=StepColumns.of(
            {
                "step_ms": step,
                "compute_ms": compute,
                "link_ms": read,
                "both_ms": both,
                "fetched": fetched,
                "prefetched": guessed,
                "wasted": wasted,
            }
        ),
        seconds=2.0,
    )
