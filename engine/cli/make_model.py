"""`runahead make-model`: write a random-weight GGUF of a real model's shape, to test and bench."""

import argparse
from pathlib import Path

from engine import errors, sizes
from engine.bench_models.shapes import SHAPES
from engine.cli.arguments import Commands, positive
from engine.cli.routing_table import routing_table
from engine.cli.terminal import native_progress, stdout

STAGES = {"write": "Writing", "calibrate": "Measuring its routing"}


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "make-model",
        parents=[common],
        help="write a random-weight model of a real model's shape",
        description="Writes a GGUF with random weights and the layer shape of a real model. Its"
        " text is nonsense; its speed is the real thing.",
    )
    parser.add_argument("path", type=Path, metavar="FILE", help="the GGUF to write")
    parser.add_argument(
        "--like",
        default="qwen3-30b-a3b",
        metavar="SHAPE",
        help=f"{', '.join(SHAPES)} (default: qwen3-30b-a3b)",
    )
    parser.add_argument(
        "--layers", type=positive, metavar="N", help="layers (default: the shape's)"
    )
    parser.add_argument("--type", default="q4_0", help="type of the weights (default: q4_0)")
    parser.add_argument(
        "--vocab", type=Path, metavar="GGUF", help="take the vocabulary of this file"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the weights (default: 0)")
    parser.add_argument(
        "--no-calibration",
        action="store_true",
        help="do not measure afterwards how such a model routes (which takes up to a minute)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the model, and measure its routing where that is made to be like a real model's."""
    from engine.bench_models.errors import BenchModelError
    from engine.bench_models.make_model import make_model
    from engine.bench_models.network import is_calibrated

    try:
        with native_progress(STAGES) as progress:
            made = make_model(
                args.path,
                like=args.like,
                n_layer=args.layers,
                type=args.type,
                vocab=args.vocab,
                seed=args.seed,
                calibration=is_calibrated(args.like) and not args.no_calibration,
                progress=progress,
            )
    except BenchModelError as error:
        raise errors.from_native(error.args) from error
    stdout().print(
        f"{made.path}: {sizes.show(made.file_bytes)}, {made.shape.n_layer} layers of"
        f" {made.shape.n_expert} experts ({sizes.show(made.experts_total_bytes)}), {made.type}",
        markup=False,
        soft_wrap=True,
    )
    if made.calibration:
        title = "How such a model routes, by a narrow version of it"
        stdout().print(routing_table([made.calibration], title))
    return 0
