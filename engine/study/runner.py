"""Makes the runs of a study that are missing, and keeps each at once."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from engine import errors
from engine.study.estimate import TimeLeft
from engine.study.plan import StudyPlan
from engine.study.results import StudyResults
from engine.study.scope import Scope
from engine.study.source import DataSource, Stepped


@dataclass(frozen=True)
class Progress:
    """Where a study is.

    Attributes:
        share: Of the whole, by time, from 0 to 1.
        left_s: Estimated, for this run and those that have not begun.
        label: What runs now.
    """

    n_done: int
    n_total: int
    share: float
    left_s: float
    label: str


@dataclass
class Outcome:
    """What a call of run_study did; `failures` are sentences, one per run that failed."""

    n_made: int = 0
    failures: list[str] = field(default_factory=list)


def run_study(
    plan: StudyPlan,
    source: DataSource,
    results: StudyResults,
    scope: Scope,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Outcome:
    """Make what is missing. A run that fails is told and left out; the next study tries it again.

    What ends the call early (Ctrl-C) leaves every finished run in `results`.
    """
    outcome = Outcome()
    missing = plan.missing(results)
    left = TimeLeft(scope, source.size, results.runs)
    done_s = sum(run.seconds for run in results.runs)
    for at, case in enumerate(missing):
        label = f"{case.label}, link {case.link}"
        n_done = len(plan.cases) - len(missing) + at
        own_s, rest_s = left.seconds(case), left.total(missing[at + 1 :])
        stepped = _reporter(
            Progress(n_done, len(plan.cases), 0.0, rest_s, label),
            (done_s, own_s, scope.total_steps(case.requests)),
            on_progress,
        )
        stepped(0)
        try:
            run = source.run(case, stepped)
        except errors.EngineError as error:
            reason = error.message.removeprefix(f"{case.label}: ")
            outcome.failures.append(f"{label}: {reason}")
            continue
        results.add(run)
        left.add(run)
        done_s += run.seconds
        outcome.n_made += 1
    n_done = len(plan.cases) - len(plan.missing(results))
    on_progress(Progress(n_done, len(plan.cases), 1.0, 0.0, ""))
    return outcome


def _reporter(
    begun: Progress, sizes: tuple[float, float, int], on_progress: Callable[[Progress], None]
) -> Stepped:
    """Tells where a study is while a run goes on.

    begun: Its left_s is without this run. sizes: Seconds of all runs before, seconds that this run
    should take, its steps.
    """
    done_s, own_s, n_step = sizes

    def stepped(done: int) -> None:
        so_far_s = done_s + own_s * min(1.0, done / max(1, n_step))
        whole_s = max(1e-9, done_s + own_s + begun.left_s)
        on_progress(replace(begun, share=so_far_s / whole_s, left_s=whole_s - so_far_s))

    return stepped
