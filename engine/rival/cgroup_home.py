"""Where this process may make memory cgroups: found in what Linux says about mounts and itself."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.errors import EngineError

WHAT_TO_DO = (
    "Run the command as root, or where systemd lets you have a part of the tree for yourself:"
    " systemd-run --user --scope runahead rival ..."
)


class NoLimitError(EngineError):
    """This machine lets us set no memory limit."""

    code = "no_limit"


@dataclass(frozen=True)
class Home:
    """A cgroup below which others can be made. Version 1 or 2 of Linux's interface."""

    folder: Path
    version: int


def homes(proc: Path = Path("/proc/self")) -> list[Home]:
    """Where to try, the best first. Raises NoLimitError where there is nothing to try.

    In version 2 a cgroup that holds processes cannot give a controller to children, so a place
    beside our own is tried as well, and one beside its parent, and so on.
    """
    try:
        mounts = list(_mounts((proc / "mountinfo").read_text()))
        own = _own((proc / "cgroup").read_text())
    except OSError as error:
        raise NoLimitError(
            f"Memory limits need Linux's cgroups, and {error.filename} cannot be read", ""
        ) from error
    found = []
    for version, controllers, root, mount in mounts:
        path = own.get("" if version == 2 else "memory")
        if path is None or (version == 1 and "memory" not in controllers):
            continue
        folder = _below(mount, root, path)
        if version == 1:
            found.append(Home(folder, 1))
            continue
        while folder != mount.parent:
            if "memory" in _words(folder / "cgroup.controllers"):
                found.append(Home(folder, 2))
            folder = folder.parent
    if not found:
        raise NoLimitError("No memory controller of Linux's cgroups is mounted here", WHAT_TO_DO)
    return found


def _mounts(text: str) -> Iterator[tuple[int, set[str], str, Path]]:
    """(version, controllers, what is mounted, where) of every cgroup file system."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith(("cgroup ", "cgroup2 ")):
            _, _, _, root, mount, *_ = before.split()
            kind, _, options = after.split(None, 2)
            controllers = set(options.replace(",", " ").split())
            yield 2 if kind == "cgroup2" else 1, controllers, root, Path(mount)


def _own(text: str) -> dict[str, str]:
    """Our path in each hierarchy of version 1, by controller; "" for version 2."""
    own = {}
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        own.update(dict.fromkeys(names.split(","), path))
    return own


def _below(mount: Path, root: str, path: str) -> Path:
    # In a container the mount may show a part of the tree only, which begins at `root`.
    inside = os.path.relpath(path, root)
    return mount if inside.startswith("..") or inside == "." else mount / inside


def _words(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text().split()
    return []
