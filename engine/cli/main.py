"""`runahead`: reads the command line, runs a subcommand, turns what went wrong into one sentence.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

import argparse
import itertools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from engine import errors
from engine.cli import (
    bench,
    calibrate,
    demo,
    export_log,
    figures,
    generate,
    inspect,
    make_model,
    pack,
    record,
    rival,
    simulate,
)
from engine.cli.terminal import visible, write_anything
from engine.versions import versions

_COMMANDS = (
    demo,
    generate,
    inspect,
    pack,
    bench,
    figures,
    rival,
    record,
    simulate,
    calibrate,
    export_log,
    make_model,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    write_anything()
    parser = _parser()
    args = _arguments(parser, sys.argv[1:] if argv is None else argv)
    debug = bool(getattr(args, "debug", False))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _on_sigterm)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except (KeyboardInterrupt, errors.Cancelled):
        print("runahead: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # as in `runahead inspect m.gguf | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if debug:
            print(visible(traceback.format_exc()), end="", file=sys.stderr)
        print(f"runahead: {visible(_sentence(error))}", file=sys.stderr)
        return 1


def _sentence(error: Exception) -> str:
    if isinstance(error, errors.EngineError | OSError):
        return str(errors.of(error))
    return (
        f"internal error ({type(error).__name__}: {error}). Please report it with the output of the"
        " same command and --debug."
    )


def _arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """What was asked; exits on wrong usage, and an unknown option is blamed before what follows."""
    leading = list(itertools.takewhile(lambda argument: argument.startswith("-"), argv))
    parser.parse_args(leading)
    args = parser.parse_args(argv)
    if not hasattr(args, "run"):
        parser.error("the following arguments are required: COMMAND")
    return args


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show where an error came from",
    )
    parser = argparse.ArgumentParser(
        prog="runahead",
        description="Runs mixture-of-experts language models larger than memory, several requests"
        " at once.",
        parents=[common],
        epilog="Without a command the window opens. Expert packs, models and run logs are kept in"
        " the usual folders for caches and data; the environment variable RUNAHEAD_HOME names"
        " another place for them.",
    )
    parser.add_argument("--version", action="version", version=f"runahead {versions()['runahead']}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for command in _COMMANDS:
        command.add_parser(commands, common)
    return parser


def _on_sigterm(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)  # as an exception, so that everything closes and temporary files go


if __name__ == "__main__":
    sys.exit(main())
