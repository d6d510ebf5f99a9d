"""`runahead figures`: the whole study of the paper's figures, on this machine or simulated."""

import argparse
from pathlib import Path

from engine import errors
from engine.cache_size import CacheSize
from engine.cli.arguments import Commands, add_engine_arguments, listed, positive
from engine.link_speed import LinkSpeed
from engine.workloads import WORKLOADS


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "figures",
        parents=[common],
        help="run the whole study: every figure of the paper, and a report",
        description="Runs what the figures of the Bevy paper need, each run once, and writes a"
        " picture and a CSV per figure, report.html and benchmarks.md. Stopped by Ctrl-C, it"
        " draws what is there; the same command goes on.",
    )
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a GGUF file")
    parser.add_argument(
        "--quick", action="store_true", help="fewer cases, steps and rounds: under ten minutes"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("figures"), metavar="DIR", help="default: figures"
    )
    parser.add_argument(
        "--only", type=listed(str), metavar="FIG,...", help="these figures, for example fig8,link"
    )
    parser.add_argument(
        "--simulate",
        metavar="MACHINE",
        help="simulate this machine (a name or a file), run nothing",
    )
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="recorded routing to simulate with"
    )
    parser.add_argument(
        "--draw", action="store_true", help="run nothing, draw again what DIR has results of"
    )
    group = parser.add_argument_group("how much")
    group.add_argument("--rounds", type=positive, metavar="N", help="of each case")
    group.add_argument(
        "--warm-up", type=positive, metavar="N", help="steps before those that count"
    )
    group.add_argument("--steps", type=positive, metavar="N", help="measured steps of each run")
    group.add_argument("--requests", type=listed(positive), metavar="N,...")
    group.add_argument(
        "--cache",
        type=listed(_share),
        metavar="SHARE,...",
        help="cache sizes, for example 10%%,30%%",
    )
    group.add_argument(
        "--link",
        type=listed(LinkSpeed.parse),
        metavar="SPEED,...",
        help="of the main figures; the first is that of all others (default: 2GB/s,full)",
    )
    group.add_argument(
        "--sweep",
        type=listed(LinkSpeed.parse),
        metavar="SPEED,...",
        help="of the figure over speeds",
    )
    group.add_argument("--workload", choices=WORKLOADS, help="default: short")
    group.add_argument("--prompt-tokens", type=positive, metavar="N")
    add_engine_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run what is missing, draw everything."""
    if bool(args.simulate) != bool(args.trace):
        raise errors.InvalidRequestError(
            "--simulate and --trace go together", "`runahead record` makes a trace."
        )
    if [bool(args.model), bool(args.simulate), args.draw].count(True) != 1:
        raise errors.InvalidRequestError(
            "Give one of MODEL (measure it), --simulate with --trace, or --draw"
        )
    from engine.cli import study_run  # matplotlib takes its time: only where it is needed

    return study_run.run(args)


def _share(text: str) -> float:
    size = CacheSize.parse(text)
    if size.n_bytes is not None:
        raise errors.InvalidRequestError(f"{text!r} is no share of the experts, such as 30%")
    return size.fraction or 1.0
