"""SimulatedSource: runs cases in the simulator, on recorded routing and a described machine."""

import hashlib
import time
from pathlib import Path

import msgspec

from engine import errors, native
from engine.bench_plan import BenchCase
from engine.room import least_share
from engine.simulation.machine import MachineModel
from engine.simulation.routing_trace import RoutingTrace
from engine.simulation.simulate import simulate
from engine.study.estimate import ModelSize
from engine.study.results import CaseResult, Origin, StepColumns
from engine.study.scope import Scope
from engine.study.source import Stepped

_COLUMNS = ("step_ms", "compute_ms", "link_ms", "both_ms", "fetched", "prefetched", "wasted")


class SimulatedSource:
    """Nothing of it is measured, and every figure says so. Raises what the simulator raises.

    machine: One that comes with Runahead, or a file. trace: A recorded RoutingTrace.
    """

    def __init__(self, machine: str, trace: Path, scope: Scope):
        self._scope = scope
        self._machine = MachineModel.load(machine)
        self._trace = RoutingTrace.load(trace)
        self.max_requests = self._trace.n_request
        n_step = self._trace.n_step
        if n_step <= scope.warm_up:
            raise errors.InvalidRequestError(
                f"{trace} has {n_step} steps, of which the first {scope.warm_up} are warm-up",
                "Record a longer trace, or simulate fewer steps by --quick.",
            )
        self.size = ModelSize(
            self._trace.n_layer,
            self._trace.n_expert,
            self._trace.n_used,
            self._trace.record_bytes,
            simulated=True,
        )
        self.origin = _origin(self._machine, self._trace, scope)

    def check(self, policy: str) -> None:
        """Raise InvalidRequestError for a policy that the simulator does not take."""
        with native.translated():
            native.parse_simulated_policy(policy)

    def share_for(self, n_requests: int) -> float:
        """As the simulated scheduler needs."""
        trace = self._trace
        return least_share(n_requests, trace.n_used, [trace.n_layer * trace.n_expert])

    def run(self, case: BenchCase, stepped: Stepped) -> CaseResult:
        """Simulate one run."""
        begin = time.monotonic()
        machine = self._machine
        if case.link.emulated:
            machine = machine.with_link(case.link.bytes_per_s)
        run = simulate(
            self._trace,
            machine=machine,
            policy=case.policy,
            cache_fraction=case.cache.fraction or 1.0,
            n_request=case.requests,
        )
        steps = run.steps[self._scope.warm_up :]
        columns = {name: steps[name].tolist() for name in _COLUMNS}
        hit, joined = int(steps["hit"].sum()), int(steps["joined"].sum())
        needed = hit + joined + sum(columns["fetched"]) - sum(columns["prefetched"])
        link_s = sum(columns["link_ms"]) / 1e3
        read_gb = sum(columns["fetched"]) * self._trace.record_bytes / 1e9
        sizes = run.group_sizes[self._scope.warm_up :].sum(axis=0)
        return CaseResult(
            case=case,
            tokens_per_s=1e3 * float(steps["requests"].sum()) / sum(columns["step_ms"]),
            hit_rate=hit / needed if needed else 0.0,
            link_gbps=read_gb / link_s if link_s else 0.0,
            groups_of_size=[int(n) for n in sizes],
            steps=StepColumns.of(columns),
            seconds=time.monotonic() - begin,
        )

    def routing(self, stepped: Stepped) -> RoutingTrace:
        """The trace that is simulated."""
        return self._trace


def _origin(machine: MachineModel, trace: RoutingTrace, scope: Scope) -> Origin:
    return Origin(
        kind="simulated",
        model=trace.model,
        fingerprint=hashlib.sha256(trace.experts.tobytes()).hexdigest()[:16],
        experts=f"{trace.n_layer} layers of {trace.n_expert} experts, {trace.n_used} per token,"
        f" {trace.record_bytes / 1e6:.2f} MB each",
        record_bytes=trace.record_bytes,
        machine=f"{machine.title}, link {machine.link_bytes_per_s / 1e9:.2g} GB/s",
        source=machine.source,
        settings={
            "costs": hashlib.sha256(msgspec.json.encode(machine)).hexdigest()[:12],
            "recorded steps": str(trace.n_step),
            "recorded requests": str(trace.n_request),
            "warm-up steps": str(scope.warm_up),
            "policies": f"revision {native.POLICY_REVISION}",
        },
    )
