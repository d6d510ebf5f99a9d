"""`runahead export-log`: turn a run log into JSONL, CSV, a Chrome trace or a picture."""

import argparse
from pathlib import Path

from rich.table import Column, Table

from engine import errors, folders
from engine.cli.arguments import Commands, positive
from engine.cli.terminal import plain, stdout
from engine.runlog.export import SUFFIXES, export, format_of
from engine.runlog.reader import RunLog, run_folders


def add_parser(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "export-log",
        parents=[common],
        help="export a run log, or list them",
        description="Exports a run's events (jsonl), its steps (csv), a trace for ui.perfetto.dev"
        " (chrome) or a picture of its last steps (png).",
    )
    parser.add_argument(
        "run_log", nargs="?", metavar="RUN", help="name or folder (default: the newest)"
    )
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="where to write it")
    parser.add_argument(
        "--format", choices=tuple(SUFFIXES), help="default: what FILE's name says, else jsonl"
    )
    parser.add_argument(
        "--steps", type=positive, default=2, metavar="N", help="steps in a picture (default: 2)"
    )
    parser.add_argument(
        "--from",
        dest="first_step",
        type=int,
        metavar="STEP",
        help="first step in a picture (default: those with the most requests)",
    )
    parser.add_argument("--list", action="store_true", help="list the run logs, newest first")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List or export."""
    if args.list:
        return _list()
    log = RunLog(_folder(args.run_log))
    form = args.format or (format_of(args.out) if args.out else "jsonl")
    path = args.out or Path(log.folder.name + SUFFIXES[form])
    n = export(log, path, form, n_steps=args.steps, first_step=args.first_step)
    what = {"jsonl": "events", "csv": "steps", "chrome": "trace events", "png": "steps"}[form]
    stdout().print(f"{path}: {n} {what} of {log.folder.name}", markup=False, soft_wrap=True)
    return 0


def _folder(name: str | None) -> Path:
    if name is not None:
        found = Path(name) if Path(name).is_dir() else folders.run_logs() / name
        if not found.is_dir():
            raise errors.StorageError(
                f"There is no run log {name}", "`runahead export-log --list` shows them all."
            )
        return found
    logs = run_folders()
    if not logs:
        raise errors.StorageError(
            f"There is no run log in {folders.run_logs()} yet", "Run `runahead generate` first."
        )
    return logs[0]


def _list() -> int:
    table = Table(Column("run", no_wrap=True), "model", "started (UTC)", "ended", "policy", "cache")
    for folder in run_folders():
        try:
            meta = RunLog(folder).meta
        except errors.EngineError as error:
            table.add_row(folder.name, plain(error.message), "", "", "", "")
            continue
        table.add_row(
            folder.name,
            plain(meta.model.title),
            meta.started[:19].replace("T", " "),
            "yes" if meta.ended else "running, or killed",
            str(meta.options.get("policy", "")),
            f"{meta.cache_bytes / max(1, meta.model.experts_total_bytes):.0%}",
        )
    stdout().print(table)
    return 0
