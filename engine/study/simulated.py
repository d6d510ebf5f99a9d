"""SimulatedSource: runs cases in the simulator, on recorded routing and a described machine."""

import hashlib
import importlib
import time
from pathlib import Path
from typing import Any, cast

import msgspec

from engine import errors, native
from engine.bench_plan import BenchCase
from engine.study.data import Routing
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
        self._machine = _module("machine").MachineModel.load(machine)
        self._trace = _module("routing_trace").RoutingTrace.load(trace)
        self._simulate = _module("simulate").simulate
        self.max_requests: int = self._trace.n_request
        n_step = int(self._trace.experts.shape[0])
        if n_step <= scope.warm_up:
            raise errors.InvalidRequestError(
                f"{trace} has {n_step} steps, of which the first {scope.warm_up} are warm-up",
                "Record a longer trace, or simulate fewer steps by --quick.",
            )
        _, _, n_layer, n_used = self._trace.experts.shape
        self.size = ModelSize(
            n_layer, self._trace.n_expert, n_used, self._trace.record_bytes, simulated=True
        )
        self.origin = _origin(self._machine, self._trace, scope)

    def check(self, policy: str) -> None:
        """Raise InvalidRequestError for a policy that the simulator does not take."""
        with native.translated():
            cast(Any, native).parse_simulated_policy(policy)

    def run(self, case: BenchCase, stepped: Stepped) -> CaseResult:
        """Simulate one run."""
        begin = time.monotonic()
        machine = self._machine
        if case.link.emulated:
            machine = msgspec.structs.replace(machine, link_bytes_per_s=case.link.bytes_per_s)
        run = self._simulate(
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

    def routing(self, stepped: Stepped) -> Routing | None:
        """The trace that is simulated."""
        found: Routing = self._trace
        return found


def _module(name: str) -> Any:
    """A part of the simulator, which only this needs."""
    return importlib.import_module(f"engine.simulation.{name}")


def _origin(machine: Any, trace: Any, scope: Scope) -> Origin:
    n_step, n_request, n_layer, n_used = trace.experts.shape
    return Origin(
        kind="simulated",
        model=trace.model,
        fingerprint=hashlib.sha256(trace.experts.tobytes()).hexdigest()[:16],
        experts=f"{n_layer} layers of {trace.n_expert} experts, {n_used} per token,"
        f" {trace.record_bytes / 1e6:.2f} MB each",
        record_bytes=trace.record_bytes,
        machine=f"{machine.title}, link {machine.link_bytes_per_s / 1e9:.2g} GB/s",
        source=machine.source,
        settings={
            "costs": hashlib.sha256(msgspec.json.encode(machine)).hexdigest()[:12],
            "recorded steps": str(n_step),
            "recorded requests": str(n_request),
            "warm-up steps": str(scope.warm_up),
        },
    )
