"""MemoryLimit: a memory cgroup of our own, made for one child process and removed after it.

Page cache counts as well as a process's own memory, and swap is not allowed, so a process that maps
a file keeps of it what fits, and one that needs more of its own is killed: it alone, as nobody else
is in the group. The groups lie below or beside the one this process is in, which is never changed.
"""

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from engine import sizes
from engine.rival.cgroup_home import WHAT_TO_DO, Home, NoLimitError

_PREFIX = "runahead-rival-"
_numbers = itertools.count(1)
# What a child does first; the probe does nothing else.
_ENTER = "import os, sys; os.write(os.open(sys.argv[1], os.O_WRONLY), b'%d' % os.getpid())"


class _Files(NamedTuple):
    """Names of Linux's files (Documentation/admin-guide/cgroup-v1/memory.rst, cgroup-v2.rst)."""

    limit: str
    swap: str  # version 1: of memory and swap together
    peak: str
    oom: str
    kernel: str  # a file, or a field of memory.stat
    own: tuple[str, ...]  # fields of memory.stat that cannot be dropped as page cache can
    mapped: str  # and of page cache that is mapped: a program's own code among it


_FILES = {
    1: _Files(
        limit="memory.limit_in_bytes",
        swap="memory.memsw.limit_in_bytes",
        peak="memory.max_usage_in_bytes",
        oom="memory.oom_control",
        kernel="memory.kmem.usage_in_bytes",
        own=("total_rss",),
        mapped="total_mapped_file",
    ),
    2: _Files(
        limit="memory.max",
        swap="memory.swap.max",
        peak="memory.peak",
        oom="memory.events",
        kernel="",
        own=("anon", "shmem", "kernel"),
        mapped="file_mapped",
    ),
}


class MemoryLimit:
    """Limits what enters it; a child enters by writing its process id to `entrance`.

    Raises NoLimitError where Linux does not let us make it.
    """

    def __init__(self, home: Home, limit_bytes: int):
        self.limit_bytes = limit_bytes
        self._home = home
        self._files = _FILES[home.version]
        self._enabled = False
        self._folder = home.folder / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
        self.entrance = self._folder / "cgroup.procs"
        try:
            self._enable()
            self._folder.mkdir()
            self._set(self._files.limit, limit_bytes)
            self._forbid_swap()
        except OSError as error:
            self.close()
            where = error.filename or self._folder
            raise NoLimitError(f"{where}: {error.strerror or error}", "") from error
        except NoLimitError:
            self.close()
            raise

    def own_bytes(self) -> int:
        """Memory in use now that is no page cache: of the processes, and of the kernel for them."""
        fields = self._fields("memory.stat")
        own = sum(fields.get(name, 0) for name in self._files.own)
        return own + (self._number(self._files.kernel) if self._files.kernel else 0)

    def mapped_bytes(self) -> int:
        """Page cache that is mapped now: what was read of programs, libraries and mapped models."""
        return self._fields("memory.stat").get(self._files.mapped, 0)

    def peak_bytes(self) -> int:
        """The most that was ever charged, page cache included; 0 where Linux does not count it."""
        return self._number(self._files.peak)

    def n_killed(self) -> int:
        """Processes that were killed because the limit was too tight."""
        return self._fields(self._files.oom).get("oom_kill", 0)

    def close(self) -> None:
        """Remove the group, from which all processes have gone; safe to call twice."""
        deadline = time.monotonic() + 10
        while self._folder.exists():
            with contextlib.suppress(OSError):  # version 1: page cache would outlive the group
                self._set("memory.force_empty", 0)
            try:
                self._folder.rmdir()
            except OSError as error:
                if time.monotonic() > deadline:
                    raise NoLimitError(f"{self._folder} cannot be removed: {error}", "") from error
                time.sleep(0.02)
        if self._enabled:
            self._enabled = False
            with contextlib.suppress(OSError):  # somebody else has begun to use it
                (self._home.folder / "cgroup.subtree_control").write_text("-memory")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _enable(self) -> None:
        if self._home.version == 1:
            return
        switch = self._home.folder / "cgroup.subtree_control"
        if "memory" not in switch.read_text().split():
            switch.write_text("+memory")
            self._enabled = True

    def _forbid_swap(self) -> None:
        if self._home.version == 2:
            name, limit = self._files.swap, 0
        else:
            name, limit = self._files.swap, self.limit_bytes
        if (self._folder / name).exists():
            self._set(name, limit)
        elif _swap_is_on():
            raise NoLimitError(
                "Swap is on and this Linux does not limit it, so a memory limit would mean little",
                "Turn it off for the while: sudo swapoff -a",
            )

    def _set(self, name: str, value: int) -> None:
        with (self._folder / name).open("r+") as file:  # never makes a file
            file.write(str(value))

    def _number(self, name: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            return int((self._folder / name).read_text())
        return 0

    def _fields(self, name: str) -> dict[str, int]:
        lines = (self._folder / name).read_text().splitlines()
        pairs = (line.split() for line in lines)
        return {key: int(value) for key, value in pairs}


def choose_home(homes: Iterable[Home]) -> Home:
    """The first in which a limit can be made and entered; also removes what a crash left there.

    Raises NoLimitError with what each attempt met.
    """
    refusals = []
    for home in homes:
        _remove_left(home)
        try:
            with MemoryLimit(home, 1 << 30) as limit:
                probe = subprocess.run(
                    [sys.executable, "-I", "-S", "-c", _ENTER, str(limit.entrance)],
                    capture_output=True,
                    text=True,
                    timeout=60,
                )
        except NoLimitError as error:
            refusals.append(str(error))
            continue
        if probe.returncode == 0:
            return home
        refusals.append(f"{limit.entrance}: {probe.stderr.strip().splitlines()[-1]}")
    raise NoLimitError(
        "No memory limit can be set for a child process here (" + "; ".join(refusals) + ")",
        WHAT_TO_DO,
    )


def available_bytes() -> int:
    """What processes can still take without swapping (MemAvailable)."""
    return _meminfo()["MemAvailable"]


def check_available(n_bytes: int) -> None:
    """Raise NoLimitError when a limit would be higher than what is free: it would not hold back."""
    available = available_bytes()
    if n_bytes > available:
        raise NoLimitError(
            f"A run needs {sizes.show(n_bytes)}, and only {sizes.show(available)} are free",
            "Close other programs, or choose a smaller --cache.",
        )


def _swap_is_on() -> bool:
    return _meminfo().get("SwapTotal", 0) > 0


def _meminfo() -> dict[str, int]:
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) > 1}


def _remove_left(home: Home) -> None:
    with contextlib.suppress(OSError):
        for folder in home.folder.glob(f"{_PREFIX}*"):
            pid = folder.name.removeprefix(_PREFIX).split("-")[0]
            if pid.isdigit() and not Path("/proc", pid).exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()
