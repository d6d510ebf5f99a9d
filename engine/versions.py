"""Versions and the machine in general terms, for run logs; nothing that names a person."""

import importlib.metadata
import os
import platform
from pathlib import Path

import msgspec


class Machine(msgspec.Struct, frozen=True):
    """What a figure was measured on."""

    system: str
    release: str
    arch: str
    cpu: str
    cpus: int
    memory_bytes: int


def machine() -> Machine:
    """This machine."""
    return Machine(
        system=platform.system(),
        release=platform.release(),
        arch=platform.machine(),
        cpu=_cpu_name(),
        cpus=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    )


def versions() -> dict[str, str]:
    """Of what decides results and speed."""
    found = {"python": platform.python_version()}
    for name in ("runahead", "llama-cpp-python", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
