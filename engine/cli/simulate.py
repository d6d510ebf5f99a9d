"""`runahead simulate`: policies against each other on a machine that need not be here."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich import box
from rich.table import Table

from engine import native
from engine.atomic_file import write_json
from engine.cache_size import CacheSize
from engine.cli.arguments import Commands, checked, listed, positive
from engine.cli.measuring import check_can_be_made, check_policies
from engine.cli.terminal import note, progress_bars, stdout, visible
from engine.link_speed import LinkSpeed
from engine.simulation.machine import MachineModel, machine_names
from engine.simulation.routing_trace import RoutingTrace
from engine.simulation.simulate import SimulatedRun, simulate

# Costs depend on the size of an expert; over this ratio they say little about another model.
_OTHER_MODEL = 1.1


class SimulatedCase(msgspec.Struct, frozen=True):
    """One policy in one case; means per step after the first half of the steps."""

    policy: str
    requests: int
    cache_fraction: float
    tokens_per_s: float
    step_ms: float
    compute_busy_ms: float
    link_busy_ms: float
    both_busy_ms: float
    hit_rate: float
    fetched: float
    prefetched: float
    wasted: float


class SimulationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `runahead simulate --json` writes."""

    simulated: bool = True
    trace: str
    model: str
    machine: MachineModel
    steps: int
    cases: list[SimulatedCase]


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "simulate",
        parents=[common],
        help="compare policies on a simulated machine",
        description="Runs the engine's scheduler and cache over a recorded routing trace on a"
        " virtual clock. Its figures are simulated, not measured.",
    )
    parser.add_argument("trace", type=Path, metavar="TRACE", help="made by `runahead record`")
    parser.add_argument(
        "--machine",
        required=True,
        metavar="NAME",
        help=f"{', '.join(machine_names())}, or a file made by `runahead calibrate`",
    )
    parser.add_argument(
        "--policies",
        type=listed(str),
        default=("bevy", "lockstep-lfu", "llama.cpp"),
        metavar="A,B,...",
        help="the first is compared with the others; presets, or five names joined by '/', of which"
        " the eviction may be belady, the optimum (default: bevy,lockstep-lfu,llama.cpp)",
    )
    parser.add_argument(
        "--requests", type=listed(positive), metavar="N,...", help="default: those of the trace"
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
        type=checked(LinkSpeed.parse),
        default=LinkSpeed(),
        metavar="SPEED",
        help="another link than the machine's, for example 1GB/s",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Simulate and report."""
    machine = MachineModel.load(args.machine)
    if args.link.emulated:
        machine = machine.with_link(args.link.bytes_per_s)
    check_policies(args.policies, native.parse_simulated_policy)
    check_can_be_made(args.json)
    trace = RoutingTrace.load(args.trace)
    requests = args.requests or (trace.n_request,)
    ratio = trace.record_bytes / (machine.record_bytes or trace.record_bytes)
    if not 1 / _OTHER_MODEL < ratio < _OTHER_MODEL:
        note(
            f"{machine.title} was fitted to {machine.model}, whose experts are {1 / ratio:.2g}"
            " times as large as the trace's: take the figures as a rough sketch."
        )
    shown = [(n, cache) for cache in args.cache for n in requests]
    runs: dict[tuple[int, CacheSize], list[SimulatedRun]] = {case: [] for case in shown}
    with progress_bars() as bars:
        task = bars.add_task("Simulating", total=len(shown) * len(args.policies), amount="")
        for n, cache in shown:
            for policy in args.policies:
                bars.update(task, amount=f"{policy}, {n} requests, cache {cache}")
                runs[n, cache].append(
                    simulate(
                        trace,
                        machine=machine,
                        policy=policy,
                        cache_fraction=_fraction(cache, trace),
                        n_request=n,
                    )
                )
                bars.advance(task)
    if args.json:
        report = SimulationReport(
            trace=str(args.trace),
            model=trace.model,
            machine=machine,
            steps=trace.n_step - trace.n_step // 2,
            cases=[_case(found, n) for (n, _), each in runs.items() for found in each],
        )
        write_json(args.json, report)
    out = stdout()
    out.print(
        f"{visible(trace.model)} on {visible(machine.summary())} (simulated, not measured)",
        markup=False,
        soft_wrap=True,
    )
    for (n, cache), found in runs.items():
        out.print(_table(found, n, cache))
    return 0


def _fraction(cache: CacheSize, trace: RoutingTrace) -> float:
    total = trace.experts_total_bytes
    return cache.fraction or cache.bytes_of(total) / total


def _case(run_: SimulatedRun, requests: int) -> SimulatedCase:
    return SimulatedCase(
        run_.policy,
        requests,
        run_.cache_fraction,
        run_.tokens_per_s(),
        run_.mean("step_ms"),
        run_.mean("compute_ms"),
        run_.mean("link_ms"),
        run_.mean("both_ms"),
        run_.hit_rate(),
        run_.mean("fetched"),
        run_.mean("prefetched"),
        run_.mean("wasted"),
    )


def _table(runs: Sequence[SimulatedRun], requests: int, cache: CacheSize) -> Table:
    """One case: means of the second half of the steps, the first policy against each other one."""
    table = Table(
        title=f"{requests} requests, cache {cache} (simulated)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
    )
    table.add_column("policy", no_wrap=True)
    for name in ("tok/s", "step ms", "compute", "link", "both", "hits", "fetched", "wasted"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(f"{runs[0].policy} is", justify="right", no_wrap=True)
    for found in runs:
        case = _case(found, requests)
        ratio = case.step_ms / (runs[0].mean("step_ms") or 1)
        table.add_row(
            case.policy,
            f"{case.tokens_per_s:.2f}",
            f"{case.step_ms:.1f}",
            *(
                f"{ms / case.step_ms:.0%}" if case.step_ms else ""
                for ms in (case.compute_busy_ms, case.link_busy_ms, case.both_busy_ms)
            ),
            f"{case.hit_rate:.0%}",
            f"{case.fetched:.1f}",
            f"{case.wasted:.1f}",
            "" if found is runs[0] else f"{ratio:.2f}x",
        )
    return table
