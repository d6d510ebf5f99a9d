"""What a child process does first, so that it never outlives its parent and never harms others."""

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from engine.process.child_log import keep_small

_PR_SET_PDEATHSIG = 1
_STDERR = 2
_LOG_LOOK_S = 1.0


def live(run: Callable[[socket.socket], None]) -> NoReturn:
    """The life of a child: `run` gets the line whose number is this process's only argument.

    What goes wrong unexpectedly is in the log, and in the exit code.
    """
    code = 1
    try:
        _enter()
        sock = socket.socket(fileno=int(sys.argv[1]))
        sock.set_inheritable(False)
        run(sock)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)  # taking Python and the libraries apart takes time, and saves nothing


def _enter() -> None:
    # The terminal's Ctrl-C is for the parent, which then says what shall become of this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    _be_killed_first()
    faulthandler.enable(all_threads=False)  # to stderr, which is the log
    # A core file of so large a process would take minutes, and hide its death meanwhile.
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    threading.Thread(target=_keep_log_small, name="log", daemon=True).start()


def end_within(seconds: float) -> None:
    """End this process then, whatever hangs. What should be saved has so long."""

    def end() -> None:
        time.sleep(seconds)
        os._exit(0)

    threading.Thread(target=end, name="end", daemon=True).start()


def _die_with_parent() -> None:
    """The line's end says so too, but only to one who listens; the kernel tells even the deaf.

    To Linux the parent is the thread that started us.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _be_killed_first() -> None:
    """When memory runs out, the kernel shall take this process and no other."""
    with contextlib.suppress(OSError):  # not on Linux, or not allowed
        Path("/proc/self/oom_score_adj").write_text("1000")


def _keep_log_small() -> None:
    while True:
        time.sleep(_LOG_LOOK_S)
        with contextlib.suppress(OSError):  # no file, or a full disk
            keep_small(_STDERR)
