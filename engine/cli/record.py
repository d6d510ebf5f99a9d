"""`runahead record`: run a model and keep what its routers chose, for `runahead simulate`."""

import argparse
from pathlib import Path

from engine import sizes
from engine.cache_size import CacheSize
from engine.cli.arguments import (
    Commands,
    add_engine_arguments,
    checked,
    positive,
)
from engine.cli.measuring import check_can_be_made, open_engine
from engine.cli.terminal import progress_bars, stdout, visible
from engine.workloads import PROMPT_TOKENS, WORKLOADS


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "record",
        parents=[common],
        help="record which experts a model's routers choose",
        description="Runs prompts of a workload side by side and writes which experts every router"
        " chose, and how it scored the others: what `runahead simulate` reads.",
    )
    parser.add_argument("model", metavar="MODEL", help="a GGUF file")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="the trace to write (.npz)"
    )
    parser.add_argument("--requests", type=positive, default=8, metavar="N", help="default: 8")
    parser.add_argument("--steps", type=positive, default=256, metavar="N", help="default: 256")
    parser.add_argument(
        "--lookahead",
        type=_layers,
        default=3,
        metavar="N",
        help="keep what the routers of the next N layers would choose, which prefetchers need"
        " (default: 3)",
    )
    parser.add_argument("--workload", choices=WORKLOADS, default="short", help="default: short")
    parser.add_argument(
        "--prompt-tokens", type=positive, metavar="N", help="default: what suits the workload"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument(
        "--cache",
        type=checked(CacheSize.parse),
        default=CacheSize(fraction=0.3),
        metavar="SIZE",
        help="memory for experts meanwhile; the routing does not depend on it (default: 30%%)",
    )
    add_engine_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Record and write."""
    from engine.simulation.record import record_trace

    check_can_be_made(args.out)
    prompt_tokens = args.prompt_tokens or PROMPT_TOKENS[args.workload]
    engine = open_engine(
        args,
        cache=args.cache,
        cases=[(args.requests, args.cache)],
        context=prompt_tokens + args.steps + 1,
        max_requests=args.requests,
    )
    with engine, progress_bars() as bars:
        task = bars.add_task("Recording", total=args.steps, amount="")
        trace = record_trace(
            engine,
            args.requests,
            args.steps,
            n_lookahead=args.lookahead,
            prompt_tokens=prompt_tokens,
            workload=args.workload,
            seed=args.seed,
            stepped=lambda done: bars.update(task, completed=done),
        )
        bars.update(task, completed=args.steps, description="Writing")
        trace.save(args.out)
    stdout().print(
        f"{args.out}: {trace.n_step} steps of {trace.n_request} requests on {visible(trace.model)},"
        f" {trace.n_layer} layers of {trace.n_expert} experts, {trace.n_lookahead} layers of"
        f" lookahead, {sizes.show(args.out.stat().st_size)}",
        markup=False,
        soft_wrap=True,
    )
    return 0


def _layers(text: str) -> int:
    return 0 if text == "0" else positive(text)
