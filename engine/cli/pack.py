"""`runahead pack`: build or check a model's expert pack."""

import argparse
from pathlib import Path

from engine import errors, sizes
from engine.cli.arguments import Commands
from engine.cli.terminal import native_progress, stdout, visible
from engine.model_info import inspect_model
from engine.pack import build_pack, pack_path, why_unusable


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "pack",
        parents=[common],
        help="build or check a model's expert pack",
        description="Writes the file that experts are read from at run time. Opening a model does"
        " that too; here it can be done before, elsewhere, or checked.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="a GGUF file")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="where (default: the cache folder)"
    )
    parser.add_argument(
        "--layout",
        choices=("repacked", "plain"),
        default="repacked",
        help="interleaved for this CPU's kernels where they can be (default), or as in the model",
    )
    parser.add_argument("--force", action="store_true", help="build it even if a good one is there")
    parser.add_argument("--verify", action="store_true", help="only check every byte of the pack")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Build or check the pack."""
    model = inspect_model(args.model)
    path: Path = args.out or pack_path(model)
    out = stdout()
    with native_progress({"verify": "Checking the pack", "pack": "Packing"}) as progress:
        reason = why_unusable(path, model, verify=args.verify, progress=progress)
    if args.verify:
        if reason:
            raise errors.ModelFileError(
                f"The pack {path} cannot serve {model.title}: {reason}",
                "Build it again with `runahead pack --force`.",
            )
        out.print(f"{path}: whole, and of {visible(model.title)}", markup=False, soft_wrap=True)
        return 0
    if not reason and not args.force:
        out.print(f"{path}: there already, and good", markup=False, soft_wrap=True)
        return 0
    if args.out and path.exists() and not args.force:
        raise errors.ModelFileError(f"{path} is no pack of {model.title}: {reason}", "Use --force.")
    with native_progress({"pack": "Packing"}) as progress:
        made = build_pack(model, path, layout=args.layout, progress=progress)
    out.print(
        f"{made.path}: {made.experts} experts, {sizes.show(made.bytes)}, {made.layout}",
        markup=False,
        soft_wrap=True,
    )
    return 0
