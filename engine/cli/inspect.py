"""`runahead inspect`: what a model file holds and whether it can be run."""

import argparse
import sys
from pathlib import Path

from rich.table import Table

from engine import sizes
from engine.cli.arguments import Commands
from engine.cli.terminal import as_json, plain, stdout
from engine.model_info import ModelInfo, inspect_model
from engine.pack import pack_path


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "inspect", parents=[common], help="show what a model file holds", description=__doc__
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="a GGUF file")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--tensors", action="store_true", help="list the tensors too")
    parser.add_argument("--metadata", action="store_true", help="list the metadata too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show the model."""
    model = inspect_model(args.model)
    if args.json:
        sys.stdout.write(as_json(model) + "\n")
        return 0
    out = stdout()
    out.print(_overview(model))
    if args.metadata:
        table = Table("key", "value", title="Metadata", title_justify="left")
        for key, text in model.metadata:
            table.add_row(plain(key), plain(text))
        out.print(table)
    if args.tensors:
        table = Table("tensor", "type", "shape", "size", title="Tensors", title_justify="left")
        for name, kind, shape, n_bytes in model.tensors:
            shown = " x ".join(map(str, shape))
            table.add_row(plain(name), kind, shown, sizes.show(n_bytes))
        out.print(table)
    return 0


def _overview(model: ModelInfo) -> Table:
    table = Table(show_header=False, title=plain(model.title), title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    runs = "yes" if model.supported else f"no: {model.reason}"
    each = " or ".join(sizes.show(n) for n in model.expert_bytes)
    recommended = ", ".join(f"{name} {value:g}" for name, value in model.sampling.values.items())
    path = pack_path(model)
    rows = {
        "runs here": runs,
        "family": model.architecture,
        "file": f"{sizes.show(model.file_bytes)} in {len(model.files)} file(s)",
        "layers": f"{model.n_layer}, {model.n_moe_layer} with experts",
        "experts": f"{model.n_expert} per layer, {model.n_expert_used} used per token",
        "one expert": each or "none",
        "all experts": sizes.show(model.experts_total_bytes),
        "always resident": sizes.show(model.other_bytes),
        "context": f"{model.context_length} tokens",
        "vocabulary": f"{model.n_vocab} tokens",
        "chat template": "yes" if model.chat_template else "no",
        "recommended sampling": recommended or "nothing",
        "types": ", ".join(f"{t} {sizes.show(n)}" for t, n in model.types.items()),
        "expert pack": str(path) if path.exists() else "not built yet",
    }
    for name, text in rows.items():
        table.add_row(name, plain(text))
    return table
