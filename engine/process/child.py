"""Child: a process of ours that runs one module of the engine, and the channel to it.

It is asked to end, and killed when it has not a second later: by whoever calls gone() often enough,
or by itself. It ends by itself, too, when this process does.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.process import channel
from engine.process.child_log import ChildLog
from engine.process.frames import UnsendableError
from engine.protocol import Stop

STOP_S = 1.0
_PACKAGES = Path(__file__).resolve().parents[2]  # where `engine` lies


def command_line(module: str, handle: int) -> list[str]:
    """What runs `module` with the line's end `handle`; the one place that knows how.

    -P: a folder named engine where the user happens to be is none of ours.
    """
    return [sys.executable, "-P", "-m", module, str(handle)]


class Child:
    """Raises OSError when it cannot be started.

    Args:
        module: Its main() takes the number of an open socket as its only argument.
        reports: The type of what it sends.
    """

    def __init__(self, module: str, reports: Any):
        self.log = ChildLog(module.replace(".", "-"))
        self._kill_at: float | None = None
        self._killed = False  # by us
        try:
            self.channel, theirs = channel.pair(reports)
        except BaseException:
            self.log.handed_over()
            self.log.remove_if_empty()
            raise
        try:
            with theirs:
                self._process = subprocess.Popen(
                    command_line(module, theirs.fileno()),
                    stdin=subprocess.DEVNULL,
                    stdout=self.log.handle,
                    stderr=self.log.handle,
                    pass_fds=(theirs.fileno(),),
                    env=environment(),
                    start_new_session=True,  # a terminal's signals are for the parent
                )
        except BaseException:
            self.channel.close()
            self.log.remove_if_empty()
            raise
        finally:
            self.log.handed_over()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def stop(self) -> None:
        """Ask it to end, from now on within STOP_S."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + STOP_S
            with contextlib.suppress(UnsendableError):  # then it is killed
                self.channel.send(Stop())

    def kill(self) -> None:
        """End it now."""
        if self._process.poll() is None:
            self._killed = True
            self._process.kill()

    def exited(self) -> bool:
        """True once it has ended (what it said last can still be read); kills it when overdue."""
        self.channel.flush()
        if self._process.poll() is not None:
            return True
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self.kill()
        return False

    def gone(self) -> bool:
        """As exited(), for a child that nobody listens to any more: then all of it is put away."""
        if not self.exited():
            return False
        self.channel.close()
        self.log.remove_if_empty()
        return True

    def died(self) -> bool:
        """Whether nothing more will be heard of it: it hung up and exited, or talked nonsense.

        To be asked when what it said has been received. One that hung up and stays is killed.
        """
        if self.channel.fault:
            self.kill()
            return True
        if not self.channel.ended:
            return False
        self.stop()
        return self.exited()

    @property
    def ran_out_of_memory(self) -> bool:
        """Whether that is the likeliest reason why it died."""
        return self._process.poll() == -signal.SIGKILL and not self._killed

    def why_it_died(self) -> str:
        """As "its process was killed ..."; REQUIRES: it died() or exited()."""
        if self.channel.fault:
            return f"its process said what cannot be understood: {self.channel.fault}"
        code = self._process.returncode
        if self._killed:
            return "its process did not answer any more, and was ended"
        if code == -signal.SIGKILL:
            return "its process was killed, most likely because memory ran out"
        if code < 0:
            return f"its process crashed ({_signal_name(-code)}){self._said()}"
        return f"its process ended by itself (code {code}){self._said()}"

    def _said(self) -> str:
        words = self.log.last_words()
        return f" and said: {words}" if words else ""


def wait_until_gone(children: Sequence[Child]) -> None:
    """Until all these, which were told to stop, have ended.

    One that the kernel cannot end now, because its disk does not answer, is left to it.
    """
    give_up = time.monotonic() + 2 * STOP_S
    while (children := [each for each in children if not each.gone()]) and (
        time.monotonic() < give_up
    ):
        time.sleep(0.005)


def environment() -> dict[str, str]:
    """The child imports the very engine that this process did."""
    others = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join([str(_PACKAGES), *([others] if others else [])])
    return {**os.environ, "PYTHONPATH": path}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
