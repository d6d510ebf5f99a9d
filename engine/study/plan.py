"""StudyPlan: which runs a study makes, in which order, and what it leaves out and why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine import errors
from engine.bench_plan import BenchCase
from engine.cache_size import CacheSize
from engine.link_speed import LinkSpeed
from engine.study.data import StudyFigure
from engine.study.figures import FIGURES, MOST_TELLING
from engine.study.results import StudyResults
from engine.study.scope import Scope
from engine.study.source import DataSource


@dataclass(frozen=True)
class StudyPlan:
    """Every run once, whatever number of figures shares it.

    A whole round comes before the next, so that a study that is ended early has everything once.
    Within a round, the policies of a case (requests, cache, link) follow each other, so that what
    is compared is measured in the same minutes; another policy begins in each round.

    Attributes:
        cases: In order. left_out: Sentences.
    """

    cases: list[BenchCase]
    left_out: list[str]

    def missing(self, results: StudyResults) -> list[BenchCase]:
        """The runs that have not been made."""
        return [case for case in self.cases if results.get(case) is None]


def chosen_figures(names: Sequence[str] | None) -> list[StudyFigure]:
    """The figures of these names (None: all). Raises InvalidRequestError."""
    known = {figure.NAME: figure for figure in FIGURES}
    for name in names or ():
        if name not in known:
            raise errors.InvalidRequestError(
                f"There is no figure {name!r}", f"Known are {', '.join(known)}."
            )
    return [figure for figure in FIGURES if names is None or figure.NAME in names]


def make_plan(figures: Sequence[StudyFigure], scope: Scope, source: DataSource) -> StudyPlan:
    """What these figures need, as far as the source can run it."""
    left_out: list[str] = []
    known: dict[str, bool] = {}
    groups: dict[tuple[int, CacheSize, LinkSpeed], list[str]] = {}
    too_many: set[int] = set()
    too_small: dict[int, set[float]] = {}
    for figure in sorted(figures, key=_rank):
        for case in figure.cases(scope):
            if case.requests > source.max_requests:
                too_many.add(case.requests)
                continue
            if case.cache.fraction and case.cache.fraction < source.share_for(case.requests):
                too_small.setdefault(case.requests, set()).add(case.cache.fraction)
                continue
            if case.policy not in known:
                known[case.policy] = _is_known(case.policy, source, left_out)
            policies = groups.setdefault((case.requests, case.cache, case.link), [])
            if known[case.policy] and case.policy not in policies:
                policies.append(case.policy)
    if too_many:
        left_out.append(
            f"{', '.join(map(str, sorted(too_many)))} requests: there are at most"
            f" {source.max_requests}."
        )
    for requests, shares in sorted(too_small.items()):
        left_out.append(
            f"{requests} requests with {', '.join(f'{share:.0%}' for share in sorted(shares))} of"
            f" the experts cached: to run ahead of each other they need"
            f" {math.ceil(100 * source.share_for(requests))}%."
        )
    cases = [
        BenchCase(policy, requests, cache, link, round_)
        for round_ in range(scope.rounds)
        for (requests, cache, link), policies in groups.items()
        for policy in _rotated(policies, round_)
    ]
    return StudyPlan(cases, left_out)


def _is_known(policy: str, source: DataSource, left_out: list[str]) -> bool:
    try:
        source.check(policy)
    except errors.EngineError as error:
        # What else there is, after a semicolon, would fill the page.
        left_out.append(f"The policy {policy}: {error.message.split('; ')[0]}.")
        return False
    return True


def _rank(figure: StudyFigure) -> int:
    name = figure.NAME
    return MOST_TELLING.index(name) if name in MOST_TELLING else len(MOST_TELLING)


def _rotated(policies: list[str], n: int) -> list[str]:
    at = n % len(policies) if policies else 0
    return [*policies[at:], *policies[:at]]
