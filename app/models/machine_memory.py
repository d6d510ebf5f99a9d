"""MachineMemory: how much memory this computer has, and how much of it programs may still take."""

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec

_MEMINFO = Path("/proc/meminfo")

# Left to the system and other programs: the larger of the two.
_SPARE_SHARE = 0.08
_SPARE_BYTES = 512 << 20


class MachineMemory(msgspec.Struct, frozen=True):
    """In bytes.

    `available` is what can be had without swapping: free memory, and caches that the system gives
    up when asked.
    """

    total: int
    available: int

    @property
    def spare(self) -> int:
        """What should stay free for the system and other programs."""
        return max(_SPARE_BYTES, round(self.total * _SPARE_SHARE))


def machine_memory() -> MachineMemory:
    """As the system says now; may take a few milliseconds. Never raises OSError."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if sys.platform == "darwin":
        return MachineMemory(total, min(total, _available_on_macos(total)))
    try:
        return from_meminfo(_MEMINFO.read_text(encoding="ascii", errors="replace"), total)
    except OSError:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
        return MachineMemory(total, min(total, free))


def from_meminfo(text: str, total: int) -> MachineMemory:
    """Linux: MemAvailable is the kernel's own estimate of what can be had without swapping."""
    found = {name: int(kib) << 10 for name, kib in re.findall(r"^(\w+): +(\d+) kB$", text, re.M)}
    total = found.get("MemTotal", total)
    return MachineMemory(total, min(total, found.get("MemAvailable", found.get("MemFree", total))))


def from_vm_stat(text: str) -> int:
    """macOS: what is free, and what is only cached."""
    size = re.search(r"page size of (\d+) bytes", text)
    pages = dict(re.findall(r"^Pages (free|inactive|speculative|purgeable): +(\d+)\.$", text, re.M))
    # Speculative pages are counted in none of the others; purgeable ones lie among the active.
    return sum(map(int, pages.values())) * (int(size[1]) if size else 4096)


def _available_on_macos(total: int) -> int:
    try:
        told = subprocess.run(
            ["/usr/bin/vm_stat"], capture_output=True, text=True, timeout=2, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return total // 2  # unknown: no promise
    return from_vm_stat(told.stdout)
