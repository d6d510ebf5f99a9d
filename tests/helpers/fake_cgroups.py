"""A tree of cgroups in an ordinary folder: groups made in it get the files that Linux makes."""

import os
from pathlib import Path

import pytest

FILES = {
    1: {
        "cgroup.procs": "",
        "memory.limit_in_bytes": "9223372036854771712\n",
        "memory.memsw.limit_in_bytes": "9223372036854771712\n",
        "memory.max_usage_in_bytes": "5000\n",
        "memory.kmem.usage_in_bytes": "30\n",
        "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
        "memory.force_empty": "",
        "memory.stat": "cache 900\nrss 1\ntotal_rss 100\ntotal_mapped_file 20\ntotal_cache 900\n",
    },
    2: {
        "cgroup.procs": "",
        "memory.max": "max\n",
        "memory.swap.max": "max\n",
        "memory.peak": "5000\n",
        "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
        "memory.stat": "anon 100\nfile 900\nkernel 30\nshmem 0\nfile_mapped 20\nslab 25\n",
    },
}


class FakeCgroups:
    """`proc` stands for /proc/self, `own` is the group that this process is in."""

    def __init__(self, root: Path, version: int, own: str, monkeypatch: pytest.MonkeyPatch):
        self.mount = root / "cgroup"
        self.proc = root / "proc"
        self.own = self.mount / own.strip("/")
        self.version = version
        self.own.mkdir(parents=True)
        self.proc.mkdir()
        kind = "cgroup2 cgroup2 rw" if version == 2 else "cgroup cgroup rw,memory"
        (self.proc / "mountinfo").write_text(
            f"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 20 0:9 / {self.mount} rw - {kind}\n"
        )
        line = f"0::{own}" if version == 2 else f"5:cpu,cpuacct:/elsewhere\n4:memory:{own}"
        (self.proc / "cgroup").write_text(f"{line}\n")
        self.left_out: set[str] = set()  # files that new groups lack
        self.made: list[Path] = []
        real_mkdir, real_rmdir = os.mkdir, os.rmdir

        def mkdir(path: str | Path, *rest: int, **named: int) -> None:
            real_mkdir(path, *rest, **named)
            if self.mount in Path(path).parents:
                self.made.append(Path(path))
                for name, text in FILES[version].items():
                    if name not in self.left_out:
                        (Path(path) / name).write_text(text)

        def rmdir(path: str | Path, **named: int) -> None:
            if self.mount in Path(path).parents:
                for file in Path(path).iterdir():
                    file.unlink()
            real_rmdir(path, **named)

        monkeypatch.setattr(os, "mkdir", mkdir)
        monkeypatch.setattr(os, "rmdir", rmdir)

    def delegate(self, folder: Path, *, to_children: bool) -> None:
        """Version 2: `folder` has the memory controller; its children get it, or not yet."""
        (folder / "cgroup.controllers").write_text("cpu memory pids\n")
        given = "memory pids\n" if to_children else "pids\n"
        (folder / "cgroup.subtree_control").write_text(given)
