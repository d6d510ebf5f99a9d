"""StudyData: what a figure draws from, and what it has to say."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.bench_plan import BenchCase
from engine.simulation.routing_trace import RoutingTrace
from engine.study.results import CaseResult, Origin
from engine.study.scope import Scope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value = str | int | float | None


class NoData(Exception):  # noqa: N818, it is no error to have measured less
    """A figure cannot be drawn; its words say what is missing."""


def whole_steps(trace: RoutingTrace, n_request: int) -> NDArray[np.int64]:
    """The steps in which the first `n_request` requests all took part. Raises NoData."""
    if trace.n_request < n_request:
        raise NoData(
            f"The recorded routing has {trace.n_request} requests; {n_request} are needed."
        )
    return np.flatnonzero((trace.experts[:, :n_request] >= 0).all(axis=(1, 2, 3)))


@dataclass(frozen=True)
class Spread:
    """Median, least and most over the rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of one value or more."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class StudyData:
    """Results, and the routing of the same requests (None: not recorded)."""

    scope: Scope
    origin: Origin
    runs: Sequence[CaseResult]
    routing: RoutingTrace | None = None

    def rounds(self, case: BenchCase) -> list[CaseResult]:
        """The runs of one case, in the order of their rounds."""
        found = [run for run in self.runs if _same(run.case, case)]
        return sorted(found, key=lambda run: run.case.round)

    def spread(self, case: BenchCase, value: Callable[[CaseResult], float]) -> Spread | None:
        """Of a value over the rounds; None when the case was not run."""
        values = [value(run) for run in self.rounds(case)]
        return Spread.of(values) if values else None

    def mean(self, case: BenchCase, column: str) -> float | None:
        """Of a column: over steps within each round, then the median of the rounds."""
        found = self.spread(case, lambda run: run.mean(column))
        return found.median if found else None

    def ratio(self, a: BenchCase, b: BenchCase) -> Spread | None:
        """Tokens/s of `a` over `b`, within each round that has both."""
        others = {run.case.round: run for run in self.rounds(b)}
        ratios = [
            run.tokens_per_s / others[run.case.round].tokens_per_s
            for run in self.rounds(a)
            if run.case.round in others
        ]
        return Spread.of(ratios) if ratios else None


@dataclass(frozen=True)
class Table:
    """What a figure shows, as text: one row per line of its CSV."""

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]] = field(default_factory=list)


@dataclass(frozen=True)
class Drawn:
    """One figure: the picture, its table, what it shows in one sentence, and what to know."""

    picture: "Figure"
    table: Table
    reading: str
    notes: tuple[str, ...] = ()


class StudyFigure(Protocol):
    """One figure of the study; modules of engine.study.figures have this shape.

    Attributes:
        NAME: "fig8", also the name of its files.
        TITLE: What it shows; PAPER: what it repeats, "" when it is our own.
        QUESTION: What one would like to know.
        NEEDS_ROUTING: 0, or the requests whose routing must be recorded.
    """

    NAME: str
    TITLE: str
    PAPER: str
    QUESTION: str
    NEEDS_ROUTING: int

    def cases(self, scope: Scope) -> list[BenchCase]:
        """What must be run, once."""

    def draw(self, data: StudyData) -> Drawn:
        """The figure, from whatever is there. Raises NoData."""


def _same(a: BenchCase, b: BenchCase) -> bool:
    return (a.policy, a.requests, a.cache, a.link) == (b.policy, b.requests, b.cache, b.link)
