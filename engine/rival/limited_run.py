"""Runs one job in a child process under a memory limit, and says how it went."""

import signal
import subprocess
import sys
import time
from typing import NamedTuple

import msgspec

from engine import sizes
from engine.errors import EngineError
from engine.process.child import environment
from engine.rival.cgroup_home import Home
from engine.rival.jobs import Answer, Job, Measured, Refused
from engine.rival.memory_limit import MemoryLimit, check_available

_SAMPLE_S = 0.1


class RunFailedError(EngineError):
    """The child gave no figure; the text says why."""

    code = "run_failed"


class Limited(msgspec.Struct, frozen=True, kw_only=True):
    """A run and its memory.

    Attributes:
        own_bytes: Most that was in use and was no page cache.
        used_bytes: Most that was in use, with what was mapped.
        peak_bytes: Most that was charged, page cache included; never more than the limit.
    """

    measured: Measured
    limit_bytes: int
    own_bytes: int
    used_bytes: int
    peak_bytes: int


class _Seen(NamedTuple):
    own_bytes: int
    used_bytes: int


def run_limited(job: Job, home: Home, limit_bytes: int, timeout_s: float) -> Limited:
    """Run it. Raises RunFailedError, or NoLimitError when the limit cannot be set."""
    check_available(limit_bytes)
    with MemoryLimit(home, limit_bytes) as limit:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "engine.rival.child", str(limit.entrance)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        try:
            out, errors, seen = _watch(child, msgspec.json.encode(job), limit, timeout_s)
        finally:
            if child.poll() is None:
                child.kill()
                child.communicate()
        if limit.n_killed() > 0:
            raise RunFailedError(
                f"It needs more than {sizes.show(limit_bytes)} of memory of its own, and Linux"
                " killed it"
            )
        if child.returncode != 0:
            raise RunFailedError(_how_it_ended(child.returncode, errors))
        answer: Answer = msgspec.json.decode(out, type=Answer)
        if isinstance(answer, Refused):
            raise RunFailedError(answer.reason)
        return Limited(
            measured=answer.measured,
            limit_bytes=limit_bytes,
            own_bytes=seen.own_bytes,
            used_bytes=seen.used_bytes,
            peak_bytes=limit.peak_bytes(),
        )


def _watch(
    child: subprocess.Popen[bytes], job: bytes, limit: MemoryLimit, timeout_s: float
) -> tuple[bytes, bytes, _Seen]:
    """Until the child ends: what it wrote, and the most memory that was seen in use."""
    deadline = time.monotonic() + timeout_s
    seen, sent = _Seen(0, 0), False
    while True:
        try:
            out, errors = child.communicate(None if sent else job, timeout=_SAMPLE_S)
        except subprocess.TimeoutExpired:
            sent = True
            own = limit.own_bytes()
            used = own + limit.mapped_bytes()
            seen = _Seen(max(seen.own_bytes, own), max(seen.used_bytes, used))
            if time.monotonic() > deadline:
                raise RunFailedError(f"It did not end within {timeout_s:.0f} seconds") from None
        else:
            return out, errors, seen


def _how_it_ended(code: int, errors: bytes) -> str:
    last = errors.decode(errors="replace").strip().rpartition("\n")[2]
    name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"The process ended by {name}" + (f": {last}" if last else "")
