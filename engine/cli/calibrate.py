"""`runahead calibrate`: measure what this computer takes for what, for `runahead simulate`."""

import argparse
from pathlib import Path

import msgspec
from rich import box
from rich.table import Table

from engine.atomic_file import write_json
from engine.cache_size import CacheSize
from engine.cli.arguments import (
    Commands,
    add_engine_arguments,
    checked,
    listed,
    positive,
)
from engine.cli.measuring import check_can_be_made, check_policies, open_engine
from engine.cli.terminal import note, progress_bars, stdout, visible
from engine.link_speed import LinkSpeed
from engine.simulation.machine import MachineModel

# Predictions further off than this are pointed out.
_GOOD = 0.10


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "calibrate",
        parents=[common],
        help="fit a machine for `runahead simulate` to this computer",
        description="Runs a model for a minute or two, fits what computing and reading cost here,"
        " and shows how well the simulator then predicts the very runs.",
    )
    parser.add_argument("model", metavar="MODEL", help="a GGUF file")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="the machine file (.json)"
    )
    parser.add_argument(
        "--requests",
        type=listed(positive),
        default=(1, 2, 4, 8),
        metavar="N,...",
        help="default: 1,2,4,8",
    )
    parser.add_argument(
        "--policies",
        type=listed(str),
        default=("llama.cpp", "mixtral-offloading", "bevy+prefetch"),
        metavar="A,B,...",
        help="more policies to compare predictions with; lockstep-lfu and bevy are always run"
        " (default: llama.cpp,mixtral-offloading,bevy+prefetch)",
    )
    parser.add_argument("--steps", type=positive, default=48, metavar="N", help="default: 48")
    parser.add_argument(
        "--prompt-tokens", type=positive, default=64, metavar="N", help="default: 64"
    )
    parser.add_argument(
        "--cache",
        type=checked(CacheSize.parse),
        default=CacheSize(fraction=0.3),
        metavar="SIZE",
        help="memory for experts (default: 30%%)",
    )
    parser.add_argument(
        "--link",
        type=checked(LinkSpeed.parse),
        default=LinkSpeed(),
        metavar="SPEED",
        help="emulate a slower disk meanwhile, for example 2GB/s (default: full)",
    )
    add_engine_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure, fit, write, and show the residuals."""
    from engine.simulation.calibrate import CalibrationPlan, calibrate

    plan = CalibrationPlan(
        policies=args.policies,
        requests=args.requests,
        cache=args.cache,
        link=args.link,
        steps=args.steps,
        prompt_tokens=args.prompt_tokens,
    )
    check_policies(plan.policies)
    check_can_be_made(args.out)
    engine = open_engine(
        args,
        cache=plan.cache,
        cases=[(n, plan.cache) for n in plan.requests],
        context=plan.prompt_tokens + plan.steps + 1,
        max_requests=max(plan.requests),
    )
    with engine, progress_bars() as bars:
        task = bars.add_task("Calibrating", total=plan.total_steps, amount="")

        def on_progress(done: int, total: int, label: str) -> None:
            bars.update(task, completed=done, total=total, amount=label)

        found = calibrate(engine, plan, on_progress)
    found = msgspec.structs.replace(found, name=args.out.stem)
    write_json(args.out, found)
    _show(found, args.out)
    return 0


def _show(found: MachineModel, path: Path) -> None:
    out = stdout()
    out.print(f"{path}: {visible(found.summary())}", markup=False, soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("of each run's second half", no_wrap=True)
    for name in ("measured", "simulated", "off by"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found.residuals:
        table.add_row(
            each.what,
            f"{each.given:.1f} {each.unit}",
            f"{each.predicted:.1f} {each.unit}",
            f"{each.error:+.0%}",
        )
    out.print(table)
    far = [each for each in found.residuals if abs(each.error) > _GOOD]
    if far:
        note(
            f"{len(far)} of {len(found.residuals)} predictions are off by more than {_GOOD:.0%}."
            " Other programs disturb a measurement; more --steps and a quiet machine help."
        )
