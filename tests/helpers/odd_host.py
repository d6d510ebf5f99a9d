"""Children that behave oddly, as RUNAHEAD_TEST_HOST says: what a client must cope with."""

import os
import signal
import sys
import time

import msgspec

from engine import host, job_host, native
from engine.process import guard
from engine.process.frames import framed
from engine.protocol import Notice

BEHAVIOUR = os.environ.get("RUNAHEAD_TEST_HOST", "")


class Slow(native.Watched):
    """Progress of one stage that goes on only once it was told to stop."""

    def __call__(self, stage: str, done: int, total: int) -> bool:
        go_on = super().__call__(stage, done, total)
        deadline = time.monotonic() + 30
        while (
            go_on and stage == BEHAVIOUR.removeprefix("stays in ") and time.monotonic() < deadline
        ):
            time.sleep(0.01)
            go_on = super().__call__(stage, done, total)
        return go_on


def talk(sock) -> None:  # type: ignore[no-untyped-def]
    """Say something that is none of the reports."""
    first = framed(Notice("hello"))
    if BEHAVIOUR == "talks nonsense":
        sock.sendall(first + len(b"nonsense").to_bytes(4, "little") + b"nonsense")
    elif BEHAVIOUR == "announces too much":
        sock.sendall(first + (1 << 30).to_bytes(4, "little"))
    elif BEHAVIOUR == "says what it may not":
        sock.sendall(framed(msgspec.defstruct("Wish", [("file", str)], tag=True)("/etc/passwd")))
    elif BEHAVIOUR == "hangs up":
        sock.close()
    time.sleep(60)


def main() -> None:
    if BEHAVIOUR == "leaves":
        print("line one\nCHECK failed: 1 == 2 (somewhere.cpp:3)", file=sys.stderr)
        sys.exit(7)
    if BEHAVIOUR == "crashes":
        guard.live(lambda sock: signal.raise_signal(signal.SIGSEGV))
    if BEHAVIOUR == "is deaf":
        guard.live(lambda sock: time.sleep(60))
    if BEHAVIOUR.startswith("stays in "):
        native.Watched = Slow  # type: ignore[misc]
        if os.environ["RUNAHEAD_TEST_KIND"] == "job":
            guard.live(lambda sock: job_host.JobHost(sock).run())
        guard.live(lambda sock: host.Host(sock).run())
    guard.live(talk)


if __name__ == "__main__":
    main()
