"""`runahead`: without arguments the window, with arguments the command line of the engine."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the two; the exit code. Model files as the only arguments open in the window."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    files = [Path(name) for name in arguments if name.lower().endswith(".gguf")]
    if len(files) < len(arguments):
        return _command_line(arguments)
    if not has_display():
        if files:
            print(
                "runahead: there is no display to open a window on. In the terminal, use"
                f' `runahead generate {shlex.quote(str(files[0]))} -p "..."`; `runahead --help`'
                " lists what else works here.",
                file=sys.stderr,
            )
            return 1
        print(
            "runahead: there is no display to open a window on, so this is the demo in the"
            " terminal. `runahead --help` lists what else works here.",
            file=sys.stderr,
        )
        return _command_line(["demo"])
    try:
        from app.start import open_window
    except ImportError as error:
        print(
            f"runahead: the window cannot be opened: {error}. A library of the system may be"
            " missing: installers/system_packages.sh says which. `runahead --help` lists what works"
            " without a window.",
            file=sys.stderr,
        )
        return 1
    return open_window(files)


def has_display() -> bool:
    """Whether a window can be shown; only X11 and Wayland say so beforehand."""
    if sys.platform in ("darwin", "win32") or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _command_line(arguments: list[str]) -> int:
    from engine.cli.main import main as run_command

    return run_command(arguments)


if __name__ == "__main__":
    sys.exit(main())
