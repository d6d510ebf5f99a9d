"""What `runahead figures` does: opens the data source, runs, draws."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine import errors
from engine.atomic_file import write_atomically
from engine.cache_size import CacheSize
from engine.cli.busy import why_busy
from engine.cli.measuring import check_folder_can_be_made, open_engine
from engine.cli.terminal import note, progress_bars, stdout, visible
from engine.simulation.routing_trace import RoutingTrace
from engine.study import scope as scopes
from engine.study.data import StudyData, StudyFigure
from engine.study.estimate import TimeLeft, in_words
from engine.study.measured import MeasuredSource, context_of
from engine.study.plan import StudyPlan, chosen_figures, make_plan
from engine.study.report import draw_study, write_study
from engine.study.results import StudyResults
from engine.study.runner import Outcome, Progress, run_study
from engine.study.scope import Scope
from engine.study.simulated import SimulatedSource
from engine.study.source import DataSource
from engine.workloads import PROMPT_TOKENS


class _Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What a study was asked for, kept beside its results for drawing again."""

    scope: Scope
    figures: list[str]
    n_planned: int
    left_out: list[str]
    trace: str = ""


def run(args: argparse.Namespace) -> int:
    """As the command line says."""
    figures = chosen_figures(args.only)
    if args.draw:
        return _draw_again(args.out, args.only)
    scope = _scope(args)
    check_folder_can_be_made(args.out)
    if args.simulate:
        return _study(SimulatedSource(args.simulate, args.trace, scope), scope, figures, args)
    n_request = max(case.requests for figure in figures for case in figure.cases(scope) or [_ANY])
    if busy := why_busy():
        note(busy)
    with open_engine(
        args,
        cache=CacheSize(fraction=max(scope.caches)) if max(scope.caches) < 1 else CacheSize(),
        cases=(),  # the plan leaves out what has no room
        context=context_of(scope, n_request),
        max_requests=n_request,
    ) as engine:
        return _study(MeasuredSource(engine, scope), scope, figures, args)


def _scope(args: argparse.Namespace) -> Scope:
    scope = scopes.QUICK if args.quick else scopes.FULL
    if args.simulate:
        scope = scopes.simulated(scope)
    given = {
        "rounds": args.rounds,
        "warm_up": args.warm_up,
        "steps": args.steps,
        "requests": args.requests,
        "caches": args.cache,
        "links": args.link,
        "sweep": args.sweep,
        "workload": args.workload,
        "prompt_tokens": args.prompt_tokens or PROMPT_TOKENS.get(args.workload),
    }
    return msgspec.structs.replace(
        scope, **{name: value for name, value in given.items() if value is not None}
    )


def _study(
    source: DataSource, scope: Scope, figures: Sequence[StudyFigure], args: argparse.Namespace
) -> int:
    """Run what is missing, then draw; after Ctrl-C, draw what is there."""
    out: Path = args.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise errors.from_os(error, f"{out} cannot be made") from error
    results = StudyResults.open(out / "results.jsonl", source.origin)
    plan = make_plan(figures, scope, source)
    for sentence in plan.left_out:
        note(f"Left out. {sentence}")
    planned = _Planned(
        scope=scope,
        figures=[figure.NAME for figure in figures],
        n_planned=len(plan.cases),
        left_out=plan.left_out,
        trace=str(args.trace.absolute()) if args.trace else "",
    )
    write_atomically(out / "study.json", msgspec.json.encode(planned))
    outcome = Outcome()
    try:
        routing = _routing(source, figures, out)
        outcome = _run(plan, source, results, scope)
    except BaseException as error:
        if results.runs and not isinstance(error, errors.EngineError):
            note("Stopped. Drawing what is there; the same command goes on.")
            _draw(results, planned, _kept_routing(out, planned.trace), figures, out, outcome)
        raise
    _draw(results, planned, routing, figures, out, outcome)
    return 1 if outcome.failures else 0


def _run(plan: StudyPlan, source: DataSource, results: StudyResults, scope: Scope) -> Outcome:
    missing = plan.missing(results)
    left_s = TimeLeft(scope, source.size, results.runs).total(missing)
    note(
        f"{len(plan.cases) - len(missing)} of {len(plan.cases)} runs are there"
        + (f"; the others take about {in_words(left_s)}." if missing else ".")
    )
    with progress_bars() as bars:
        task = bars.add_task("Running", total=1.0, amount="")

        def on_progress(progress: Progress) -> None:
            text = (
                f"{progress.n_done} of {progress.n_total} runs, about {in_words(progress.left_s)}"
                f" left: {progress.label}"
            )
            bars.update(task, completed=progress.share, amount=text)

        outcome = run_study(plan, source, results, scope, on_progress)
    for failure in outcome.failures:
        note(f"Failed. {failure}")
    return outcome


def _routing(source: DataSource, figures: Sequence[StudyFigure], out: Path) -> RoutingTrace | None:
    """Recorded once per folder, when a figure needs it."""
    if not any(figure.NEEDS_ROUTING for figure in figures):
        return None
    if source.origin.kind == "measured" and (kept := _kept_routing(out, "")):
        return kept
    with progress_bars() as bars:
        task = bars.add_task("Recording routing", total=None, amount="")
        try:
            found = source.routing(lambda done: bars.update(task, amount=f"step {done}"))
        except errors.EngineError as error:  # the other figures do without
            note(f"Routing cannot be recorded: {error}")
            return None
    if source.origin.kind == "measured":
        found.save(out / "routing.npz")
    return found


def _kept_routing(out: Path, trace: str) -> RoutingTrace | None:
    path = Path(trace) if trace else out / "routing.npz"
    if not path.exists():
        return None
    return RoutingTrace.load(path)


def _draw_again(out: Path, only: Sequence[str] | None) -> int:
    results = StudyResults.load(out / "results.jsonl")
    try:
        planned = msgspec.json.decode((out / "study.json").read_bytes(), type=_Planned)
    except OSError as error:
        raise errors.from_os(error, f"{out / 'study.json'} cannot be read") from error
    except msgspec.MsgspecError as error:
        raise errors.InvalidRequestError(f"{out / 'study.json'} is damaged: {error}") from error
    figures = chosen_figures(only or planned.figures)
    routing = _kept_routing(out, planned.trace)
    _draw(results, planned, routing, figures, out, Outcome())
    return 0


def _draw(
    results: StudyResults,
    planned: _Planned,
    routing: RoutingTrace | None,
    figures: Sequence[StudyFigure],
    out: Path,
    outcome: Outcome,
) -> None:
    data = StudyData(planned.scope, results.origin, results.runs, routing)
    study = draw_study(
        data,
        figures,
        n_planned=planned.n_planned,
        left_out=planned.left_out,
        failures=outcome.failures,
    )
    write_study(study, out)
    console = stdout()
    for section in study.sections:
        said = section.drawn.reading if section.drawn else f"not drawn: {section.missing}"
        console.print(f"{section.figure.NAME}: {visible(said)}", markup=False, soft_wrap=True)
    console.print(f"Written: {out / 'report.html'}", markup=False, soft_wrap=True)


# A figure without runs still needs the requests whose routing is recorded.
_ANY = scopes.FULL.case("bevy", requests=8)
