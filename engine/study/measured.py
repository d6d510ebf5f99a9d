"""MeasuredSource: runs cases on an open engine."""

import time

from engine import errors, native
from engine.bench_plan import BenchCase
from engine.bench_run import CaseRunner
from engine.cache_size import CacheSize
from engine.engine import Engine
from engine.link_speed import LinkSpeed
from engine.room import share_for
from engine.simulation.record import record_trace
from engine.simulation.routing_trace import RoutingTrace
from engine.study.estimate import ModelSize
from engine.study.results import CaseResult, Origin, StepColumns
from engine.study.scope import CACHE, Scope
from engine.study.source import Stepped
from engine.versions import machine, versions

# Of the figures that are computed from routing.
_ROUTING_REQUESTS = 8
_LOOKAHEAD = 3

# Of StepColumns, by those of metrics.STEP_DTYPE.
_COLUMNS = {
    "step_ms": "step_ms",
    "compute_ms": "compute_busy_ms",
    "link_ms": "link_busy_ms",
    "both_ms": "both_busy_ms",
    "fetched": "fetched",
    "prefetched": "prefetched",
    "wasted": "wasted",
}


class MeasuredSource:
    """On an engine that nobody else uses meanwhile; every run begins cold."""

    def __init__(self, engine: Engine, scope: Scope):
        self._engine = engine
        self._scope = scope
        self._made_runner: CaseRunner | None = None
        self.max_requests = engine.options.max_requests
        self.size = ModelSize(
            engine.model.n_moe_layer,
            engine.info.n_expert,
            engine.info.n_expert_used,
            engine.info.record_bytes,
        )
        self.origin = _origin(engine, scope)

    def check(self, policy: str) -> None:
        """Raise InvalidRequestError for a policy that the engine does not take."""
        with native.translated():
            native.parse_policy(policy)
        self._engine.set_policy(policy)

    def share_for(self, n_requests: int) -> float:
        """As the engine's scheduler needs."""
        return share_for(self._engine.model, n_requests)

    def run(self, case: BenchCase, stepped: Stepped) -> CaseResult:
        """Measure one run."""
        begin = time.monotonic()
        total = self._scope.total_steps(case.requests)
        measured = self._runner().run(case, stepped, total)
        run = measured.summary
        steps = measured.steps
        return CaseResult(
            case=case,
            tokens_per_s=run.tokens_per_s,
            hit_rate=run.hit_rate,
            link_gbps=run.link_gbps,
            groups_of_size=measured.groups_of_size,
            steps=StepColumns.of({name: steps[column] for name, column in _COLUMNS.items()}),
            seconds=time.monotonic() - begin,
        )

    def routing(self, stepped: Stepped) -> RoutingTrace:
        """Record the first eight requests."""
        n_request = min(_ROUTING_REQUESTS, self.max_requests)
        # Small models need more: without room for all, a step runs in waves, which name no experts.
        share = max(CACHE, self.share_for(n_request))
        self._engine.set_link(LinkSpeed())
        self._engine.set_cache_size(CacheSize(fraction=share) if share < 1 else CacheSize())
        self._engine.set_policy("bevy", cold=True)
        return record_trace(
            self._engine,
            n_request,
            routing_steps(self._scope, n_request),
            n_lookahead=_LOOKAHEAD,
            prompt_tokens=self._scope.prompt_tokens,
            workload=self._scope.workload,
            at_least=1,
            stepped=stepped,
        )

    def _runner(self) -> CaseRunner:
        scope = self._scope
        if self._made_runner is None:
            self._made_runner = CaseRunner(
                self._engine,
                self.max_requests,
                scope.total_steps(self.max_requests),
                scope.prompt_tokens,
                warm_up=scope.warm_up,
                workload=scope.workload,
            )
        return self._made_runner


def routing_steps(scope: Scope, n_request: int) -> int:
    """Steps to record: those that compute figures, for all requests together."""
    return 2 * (scope.warm_up + scope.steps) + n_request - 1


def context_of(scope: Scope, n_request: int) -> int:
    """Tokens of context that the study's requests need."""
    most = max(scope.total_steps(n_request), routing_steps(scope, _ROUTING_REQUESTS))
    return scope.prompt_tokens + most + 1


def _origin(engine: Engine, scope: Scope) -> Origin:
    info, here = engine.info, machine()
    if engine.model.n_moe_layer == 0:
        raise errors.InvalidRequestError(f"{engine.model.title} has no experts to study")
    return Origin(
        kind="measured",
        model=engine.model.title,
        fingerprint=f"{engine.model.fingerprint:016x}",
        experts=f"{engine.model.n_moe_layer} layers of {info.n_expert} experts,"
        f" {info.n_expert_used} per token, {info.record_bytes / 1e6:.2f} MB each",
        record_bytes=info.record_bytes,
        machine=f"{here.cpu}, {here.cpus} cores, {here.memory_bytes / 1e9:.0f} GB memory,"
        f" {here.system} on {here.arch}",
        settings={
            "device": info.device,
            "store": info.store,
            "threads": str(info.n_threads),
            "readers": str(engine.options.n_readers),
            "warm-up steps": str(scope.warm_up),
            "measured steps": str(scope.steps),
            "workload": scope.workload,
            "prompt tokens": str(scope.prompt_tokens),
            "policies": f"revision {native.POLICY_REVISION}",
            **{name: versions()[name] for name in ("runahead", "llama-cpp-python")},
        },
    )
