"""`runahead bench`: measure policies against each other."""

import argparse
from pathlib import Path

from engine import bench_file, errors
from engine.bench import Bench, BenchPlan
from engine.bench_report import BenchReport
from engine.cache_size import CacheSize
from engine.cli.arguments import (
    Commands,
    add_engine_arguments,
    listed,
    positive,
)
from engine.cli.bench_routing import run_routing
from engine.cli.bench_table import bench_table, slow_links
from engine.cli.busy import why_busy
from engine.cli.measuring import check_can_be_made, check_policies, open_engine
from engine.cli.terminal import note, progress_bars, stdout, visible
from engine.engine import Engine
from engine.link_speed import LinkSpeed
from engine.options import PRESETS
from engine.workloads import PROMPT_TOKENS, WORKLOADS


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "bench",
        parents=[common],
        help="measure policies against each other",
        description="Runs every policy on the same prompts, in interleaved rounds in one process,"
        " and shows medians of the ratios within each round.",
    )
    parser.add_argument("model", metavar="MODEL", help="a GGUF file")
    parser.add_argument(
        "--policies",
        type=listed(str),
        default=("bevy", "lockstep-lfu", "llama.cpp"),
        metavar="A,B,...",
        help=f"the first is compared with the others; presets ({', '.join(PRESETS)}), or five names"
        " joined by '/' (default: bevy,lockstep-lfu,llama.cpp)",
    )
    parser.add_argument(
        "--requests",
        type=listed(positive),
        default=(2, 4, 8),
        metavar="N,...",
        help="default: 2,4,8",
    )
    parser.add_argument(
        "--cache",
        type=listed(CacheSize.parse),
        default=(CacheSize(fraction=0.3),),
        metavar="SIZE,...",
        help="for example 10%%,30%% or 4GB (default: 30%%)",
    )
    parser.add_argument(
        "--link",
        type=listed(LinkSpeed.parse),
        default=(LinkSpeed(),),
        metavar="SPEED,...",
        help="emulated disk speeds, for example full,2GB/s (default: full)",
    )
    parser.add_argument("--steps", type=positive, default=96, metavar="N", help="default: 96")
    parser.add_argument("--rounds", type=positive, default=3, metavar="N", help="default: 3")
    parser.add_argument("--workload", choices=WORKLOADS, default="short", help="default: short")
    parser.add_argument(
        "--prompt-tokens", type=positive, metavar="N", help="default: what suits the workload"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument(
        "--routing",
        action="store_true",
        help="compare no policies, but measure how the model routes: what caches would hit",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write all figures there, after every run; when FILE is an unfinished benchmark of the"
        " same plan, only what is missing is measured",
    )
    parser.add_argument("--no-resume", action="store_true", help="begin anew, replacing FILE")
    add_engine_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and report."""
    args.prompt_tokens = args.prompt_tokens or PROMPT_TOKENS[args.workload]
    plan = BenchPlan(
        policies=args.policies,
        requests=args.requests,
        caches=args.cache,
        links=args.link,
        steps=args.steps,
        rounds=args.rounds,
        prompt_tokens=args.prompt_tokens,
        seed=args.seed,
        workload=args.workload,
    )
    if args.routing:
        if args.json:
            raise errors.InvalidRequestError("--json does not go with --routing")
        return run_routing(args)
    check_policies(plan.policies)
    earlier = _earlier(args, plan)
    if busy := why_busy():
        note(busy)
    with open_engine(
        args,
        policy=plan.policies[0],
        cache=plan.caches[0],
        cases=[(n, cache) for cache in plan.caches for n in plan.requests],
        context=plan.context,
        max_requests=max(plan.requests),
    ) as engine:
        if earlier:
            bench_file.check_engine(earlier, engine, args.json)
            note(f"{args.json} has {len(earlier.runs)} of {len(plan.cases())} runs already.")
        report = _measure(engine, plan, earlier, args.json)
    _show(report)
    return 0


def _earlier(args: argparse.Namespace, plan: BenchPlan) -> BenchReport | None:
    """What an interrupted benchmark left, if it is of the same plan."""
    check_can_be_made(args.json)
    if not args.json or args.no_resume:
        return None
    earlier = bench_file.load_report(args.json)
    if earlier:
        bench_file.check_plan(earlier, plan, args.json)
    return earlier


def _measure(
    engine: Engine, plan: BenchPlan, earlier: BenchReport | None, path: Path | None
) -> BenchReport:
    """Run the benchmark; what was measured is kept and shown even when something ends it early."""
    with progress_bars() as bars:
        task = bars.add_task("Measuring", total=plan.total_steps, amount="")

        def on_progress(done: int, total: int, label: str) -> None:
            bars.update(task, completed=done, total=total, amount=label)

        def on_run(report: BenchReport) -> None:
            if path:
                bench_file.save_report(report, path)

        bench = Bench(engine, plan, on_progress, on_run=on_run, earlier=earlier)
        try:
            return bench.run()
        except BaseException:
            bars.stop()
            report = bench.report()
            if report.runs:
                _show(report)
                note(
                    f"Ended after {len(report.runs)} of {len(plan.cases())} runs."
                    + (f" The same command goes on from {path}." if path else "")
                )
            raise


def _show(report: BenchReport) -> None:
    out = stdout()
    out.print(
        f"{visible(report.model)}, {report.store} store, {report.device},"
        f" {report.n_threads} threads ({report.machine.cpu})",
        markup=False,
        soft_wrap=True,
    )
    for case in dict.fromkeys(run_.case for run_ in report.runs):
        out.print(bench_table(report, case))
    for sentence in slow_links(report):
        note(sentence)
    if report.streams_agree:
        out.print("All policies gave the same tokens for every request: they saw the same routing.")
    else:
        note(
            f"Token streams differ ({len(report.differences)} times), so policies did not see the"
            f" same routing: {report.differences[0]}"
        )
