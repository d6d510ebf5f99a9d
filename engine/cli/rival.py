"""`runahead rival`: measure against llama.cpp itself, both under the same memory limit."""

import argparse
import os
from pathlib import Path

from rich import box
from rich.table import Table

from engine import errors, sizes
from engine.atomic_file import write_json
from engine.cache_size import CacheSize
from engine.cli.arguments import (
    Commands,
    add_engine_arguments,
    checked,
    engine_options,
    listed,
    positive,
)
from engine.cli.generate import STAGES
from engine.cli.measuring import check_can_be_made, check_policies
from engine.cli.terminal import native_progress, note, progress_bars, stdout, visible
from engine.model_info import inspect_model
from engine.open_store import choose_store
from engine.options import PRESETS
from engine.rival.cgroup_home import homes
from engine.rival.compare import Opened, RivalPlan, Rivalry
from engine.rival.memory_limit import choose_home
from engine.rival.report import THEIRS, RivalCase, RivalReport, median
from engine.room import check_room
from engine.workloads import PROMPT_TOKENS, WORKLOADS


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "rival",
        parents=[common],
        help="measure against llama.cpp itself, under the same memory limit",
        description="Runs the model on Runahead and on llama.cpp (memory-mapped), in turns, each"
        " in a process whose memory is limited to what Runahead takes with the given cache, and"
        " shows medians of the ratios within each round. Needs Linux's cgroups.",
    )
    parser.add_argument("model", metavar="MODEL", help="a GGUF file")
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
        help="Runahead's memory for experts, for example 10%%,30%% or 4GB (default: 30%%)",
    )
    parser.add_argument(
        "--budget",
        type=checked(_size),
        default=0,
        metavar="SIZE",
        help="the memory limit (default: what Runahead takes with that cache)",
    )
    parser.add_argument(
        "--read-ahead",
        type=listed(positive),
        default=(),
        metavar="KiB,...",
        help="try these read-aheads for llama.cpp; sets the disk's for the while (needs root)",
    )
    parser.add_argument(
        "--policy",
        default="bevy",
        help=f"Runahead's: a preset ({', '.join(PRESETS)}), or five names (default: bevy)",
    )
    parser.add_argument("--workload", choices=WORKLOADS, default="short", help="default: short")
    parser.add_argument(
        "--prompt-tokens", type=positive, metavar="N", help="default: what suits the workload"
    )
    parser.add_argument(
        "--warm-up", type=positive, default=16, metavar="N", help="steps not measured (default: 16)"
    )
    parser.add_argument("--steps", type=positive, default=48, metavar="N", help="default: 48")
    parser.add_argument("--rounds", type=positive, default=3, metavar="N", help="default: 3")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument(
        "--time-limit", type=positive, default=900, metavar="S", help="of one run (default: 900)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write all figures there, after every run"
    )
    add_engine_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and report."""
    plan = RivalPlan(
        requests=args.requests,
        caches=args.cache,
        policy=args.policy,
        warm_up=args.warm_up,
        steps=args.steps,
        rounds=args.rounds,
        workload=args.workload,
        prompt_tokens=args.prompt_tokens or PROMPT_TOKENS[args.workload],
        seed=args.seed,
        budget_bytes=args.budget,
        read_aheads=args.read_ahead,
        timeout_s=args.time_limit,
    )
    check_can_be_made(args.json)
    check_policies([plan.policy])
    home = choose_home(homes())  # before minutes of packing
    check_room(inspect_model(args.model), plan.cases)
    opened = _opened(args)

    def on_report(report: RivalReport) -> None:
        if args.json:
            write_json(args.json, report)

    with progress_bars() as bars:
        task = bars.add_task("Measuring", total=plan.most_runs, amount="")

        def on_progress(begun: int, label: str) -> None:
            bars.update(task, completed=begun, amount=label)

        report = Rivalry(home, opened, plan, on_progress, on_report).run()
    _show(report)
    return 0


def _size(text: str) -> int:
    n_bytes = sizes.parse(text)
    if not n_bytes:
        raise errors.InvalidRequestError(f"{text!r} is no size: give for example 2GB or 512MiB")
    return n_bytes


def _opened(args: argparse.Namespace) -> Opened:
    """The model, with its pack: building it in a run would count as what the run takes."""
    model = inspect_model(args.model)
    if not model.supported:
        raise errors.UnsupportedModelError(f"{model.title} cannot be run: {model.reason}")
    options = engine_options(args)
    notices: list[str] = []
    with native_progress(STAGES) as progress:
        store, pack_path = choose_store(model, options, notices, progress)
    for text in notices:
        note(text)
    return Opened(
        model=model,
        store=store,
        pack_path=pack_path,
        n_threads=options.n_threads or os.cpu_count() or 1,
        n_readers=options.n_readers,
    )


def _show(report: RivalReport) -> None:
    out = stdout()
    out.print(
        f"{visible(report.model)} ({sizes.show(report.model_bytes)}), {report.store} store,"
        f" {report.n_threads} threads ({report.machine.cpu}); {report.workload} prompts of"
        f" {report.prompt_tokens} tokens, {report.steps} steps after {report.warm_up}",
        markup=False,
        soft_wrap=True,
    )
    for case in report.cases:
        out.print(_table(report, case))
        out.print(f"llama.cpp: {case.llama_config}", markup=False, soft_wrap=True)
    if report.read_ahead_kb > 512 and not any("read-ahead" in t.config for t in report.trials):
        note(
            f"This disk reads {report.read_ahead_kb} KiB ahead, which slows mapped models down;"
            " --read-ahead 128,256 tries less."
        )
    if not report.streams_agree:
        note("Runahead's tokens differ between runs, so the sides did not see the same routing.")
    if "cpu" not in report.device.lower():
        note(f"Runahead computes on {report.device}, llama.cpp here on the CPU only.")


def _table(report: RivalReport, case: RivalCase) -> Table:
    """One case: medians over the rounds."""
    of_case = (case.requests, case.cache_fraction)
    table = Table(
        title=f"{case.requests} requests, cache {case.cache_fraction:.0%}, both within"
        f" {sizes.show(case.budget_bytes)} (Runahead takes {sizes.show(case.used_bytes)})",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
    )
    table.add_column("", no_wrap=True)
    for name in (
        "tok/s",
        "step ms",
        "read/step",
        "faults/step",
        "own",
        "peak",
        "runahead is",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    ratio = next(r for r in report.ratios if (r.requests, r.cache_fraction) == of_case)
    for side in dict.fromkeys(run_.side for run_ in report.runs):
        runs = [
            run_
            for run_ in report.runs
            if run_.side == side and (run_.requests, run_.cache_fraction) == of_case
        ]
        table.add_row(
            side,
            f"{median(runs, 'tokens_per_s'):.2f}",
            f"{median(runs, 'step_ms'):.1f}",
            sizes.show(median(runs, "read_bytes")),
            f"{median(runs, 'major_faults'):.0f}",
            sizes.show(median(runs, "own_bytes")),
            sizes.show(median(runs, "peak_bytes")),
            f"{ratio.median:.2f}x ({ratio.min:.2f}..{ratio.max:.2f})" if side == THEIRS else "",
        )
    return table
