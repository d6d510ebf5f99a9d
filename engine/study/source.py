"""DataSource: where a study's data comes from: an engine that is measured, or a simulation."""

from collections.abc import Callable
from typing import Protocol

from engine.bench_plan import BenchCase
from engine.simulation.routing_trace import RoutingTrace
from engine.study.estimate import ModelSize
from engine.study.results import CaseResult, Origin

# Told the decode steps done.
Stepped = Callable[[int], None]


class DataSource(Protocol):
    """Makes runs, one at a time."""

    @property
    def origin(self) -> Origin:
        """What the data is of."""

    @property
    def max_requests(self) -> int:
        """Cases with more are left out."""

    @property
    def size(self) -> ModelSize:
        """For estimates of time."""

    def check(self, policy: str) -> None:
        """Raise InvalidRequestError, with the reason, for a policy that it does not know."""

    def share_for(self, n_requests: int) -> float:
        """The least share of the experts to cache for so many to run ahead of each other."""

    def run(self, case: BenchCase, stepped: Stepped) -> CaseResult:
        """Make one run. Raises EngineError."""

    def routing(self, stepped: Stepped) -> RoutingTrace:
        """Recorded routing with the routers' scores. Raises EngineError."""
