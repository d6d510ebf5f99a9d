"""Memory limits of child processes: on made-up trees of cgroups, and on the real one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.errors import EngineError
from engine.rival import memory_limit, page_cache
from engine.rival.cgroup_home import Home, NoLimitError, homes
from engine.rival.jobs import LlamaConfig, LlamaJob, Work
from engine.rival.limited_run import RunFailedError, run_limited
from engine.rival.memory_limit import MemoryLimit, check_available, choose_home
from engine.rival.read_ahead import read_ahead_kb, set_read_ahead
from tests.helpers.fake_cgroups import FILES, FakeCgroups
from tests.helpers.models import tiny_model

MB = 1 << 20
VERSIONS = (1, 2)


@pytest.fixture
def tree(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> FakeCgroups:
    return FakeCgroups(tmp_path, request.param, "/user/app/shell", monkeypatch)


@pytest.fixture
def real_home() -> Home:
    try:
        return choose_home(homes())
    except NoLimitError as error:
        pytest.skip(f"needs cgroups that this user may make: {error}")


def llama_job(model: Path, n_requests: int = 2, load: str = "mmap") -> LlamaJob:
    work = Work(
        model=str(model), n_requests=n_requests, n_threads=1, context=256, warm_up=1, steps=4
    )
    return LlamaJob(
        work=work,
        config=LlamaConfig(load=load),  # type: ignore[arg-type]
        prompts=tuple((1, 2, 3 + n) for n in range(n_requests)),
        streams=tuple(tuple(range(n, n + 5)) for n in range(n_requests)),
    )


@pytest.mark.parametrize("tree", VERSIONS, indirect=True)
def test_a_limit_is_a_group_of_its_own_without_swap(tree: FakeCgroups) -> None:
    if tree.version == 2:
        tree.delegate(tree.own, to_children=True)
    home = choose_home(homes(tree.proc))
    assert home == Home(tree.own, tree.version)
    with MemoryLimit(home, 64 * MB) as limit:
        folder = limit.entrance.parent
        assert folder.parent == tree.own
        limits = {
            1: {"memory.limit_in_bytes": 64 * MB, "memory.memsw.limit_in_bytes": 64 * MB},
            2: {"memory.max": 64 * MB, "memory.swap.max": 0},
        }[tree.version]
        for name, value in limits.items():
            assert (folder / name).read_text().startswith(str(value))
        assert limit.own_bytes() == 100 + 30  # the kernel's for it too; no page cache
        assert limit.mapped_bytes() == 20
        assert limit.peak_bytes() == 5000
        assert limit.n_killed() == 0
    assert len(tree.made) == 2  # the probe's, and this one
    assert not any(made.exists() for made in tree.made)


@pytest.mark.parametrize("tree", [2], indirect=True)
def test_beside_a_group_that_cannot_have_children_there_is_room(tree: FakeCgroups) -> None:
    tree.delegate(tree.own, to_children=False)
    (tree.own / "cgroup.subtree_control").unlink()  # not ours to change
    tree.delegate(tree.own.parent, to_children=True)
    tree.delegate(tree.mount, to_children=True)
    assert choose_home(homes(tree.proc)).folder == tree.own.parent


@pytest.mark.parametrize("tree", [2], indirect=True)
def test_a_controller_that_was_not_given_on_is_taken_back_in_the_end(tree: FakeCgroups) -> None:
    tree.delegate(tree.own, to_children=False)
    switch = tree.own / "cgroup.subtree_control"
    with MemoryLimit(Home(tree.own, 2), 64 * MB):
        assert switch.read_text() == "+memory"
    assert switch.read_text() == "-memory"


@pytest.mark.parametrize("tree", [2], indirect=True)
def test_without_a_memory_controller_a_sentence_says_what_to_do(tree: FakeCgroups) -> None:
    with pytest.raises(NoLimitError, match=r"No memory controller .* systemd-run --user --scope"):
        homes(tree.proc)


@pytest.mark.parametrize("missing", ["memory.limit_in_bytes", "cgroup.procs"])
@pytest.mark.parametrize("tree", [1], indirect=True)
def test_a_group_that_cannot_be_limited_or_entered_is_refused_and_removed(
    tree: FakeCgroups, missing: str
) -> None:
    tree.left_out = {missing}
    with pytest.raises(NoLimitError, match=rf"No memory limit can be set .*{missing}.* as root"):
        choose_home(homes(tree.proc))
    assert tree.made
    assert not any(made.exists() for made in tree.made)


def test_a_system_without_cgroups_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoLimitError, match="need Linux's cgroups"):
        homes(tmp_path)


@pytest.mark.parametrize("tree", [1], indirect=True)
def test_in_a_container_paths_begin_at_what_is_mounted(tree: FakeCgroups) -> None:
    mountinfo = tree.proc / "mountinfo"
    mountinfo.write_text(mountinfo.read_text().replace(" / /", " /user/app /", 2))
    assert [home.folder for home in homes(tree.proc)] == [tree.mount / "shell"]


@pytest.mark.parametrize("tree", [1], indirect=True)
def test_what_a_killed_run_left_is_removed(tree: FakeCgroups) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = tree.own / f"runahead-rival-{gone.pid}-1"
    used = tree.own / f"runahead-rival-{os.getppid()}-1"
    left.mkdir()
    used.mkdir()
    choose_home(homes(tree.proc))
    assert not left.exists()
    assert used.exists()


@pytest.mark.parametrize("tree", VERSIONS, indirect=True)
def test_swap_that_cannot_be_forbidden_makes_a_limit_worthless(
    tree: FakeCgroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    if tree.version == 2:
        tree.delegate(tree.own, to_children=True)
    tree.left_out = {"memory.swap.max", "memory.memsw.limit_in_bytes"}
    monkeypatch.setattr(memory_limit, "_meminfo", lambda: {"SwapTotal": 0})
    with MemoryLimit(Home(tree.own, tree.version), 64 * MB):
        pass
    monkeypatch.setattr(memory_limit, "_meminfo", lambda: {"SwapTotal": 4096})
    with pytest.raises(NoLimitError, match="swapoff"):
        MemoryLimit(Home(tree.own, tree.version), 64 * MB)
    assert not any(made.exists() for made in tree.made)


def test_a_limit_over_what_is_free_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "_meminfo", lambda: {"MemAvailable": 100 * MB})
    check_available(100 * MB)
    with pytest.raises(NoLimitError, match="only 105 MB are free"):
        check_available(101 * MB)


@pytest.mark.parametrize("tree", VERSIONS, indirect=True)
def test_a_child_that_linux_killed_is_told_from_others(
    tree: FakeCgroups, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if tree.version == 2:
        tree.delegate(tree.own, to_children=True)
    home = choose_home(homes(tree.proc))
    job = llama_job(tmp_path / "absent.gguf")
    with pytest.raises(RunFailedError, match=r"llama.cpp cannot load .*absent.gguf"):
        run_limited(job, home, 640 * MB, 60)
    name = {1: "memory.oom_control", 2: "memory.events"}[tree.version]
    monkeypatch.setitem(FILES[tree.version], name, "under_oom 0\noom_kill 1\n")
    with pytest.raises(RunFailedError, match="more than 671 MB of memory of its own"):
        run_limited(job, home, 640 * MB, 60)
    assert not any(made.exists() for made in tree.made)


@pytest.mark.parametrize("tree", [1], indirect=True)
def test_a_module_of_the_folder_where_the_command_runs_is_none_of_ours(
    tree: FakeCgroups, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('another one')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunFailedError, match=r"llama.cpp cannot load .*absent.gguf"):
        run_limited(llama_job(tmp_path / "absent.gguf"), choose_home(homes(tree.proc)), MB, 60)


def test_a_child_that_takes_too_long_is_ended(real_home: Home) -> None:
    with pytest.raises(RunFailedError, match="did not end within 0 seconds"):
        run_limited(llama_job(tiny_model()), real_home, 256 * MB, 0)
    assert not list(real_home.folder.glob(f"runahead-rival-{os.getpid()}-*"))


def test_linux_kills_a_child_that_needs_more_and_nobody_else(real_home: Home) -> None:
    with pytest.raises(RunFailedError, match=r"more than 12\.6 MB of memory of its own"):
        run_limited(llama_job(tiny_model(), load="none"), real_home, 12 * MB, 60)
    assert not list(real_home.folder.glob(f"runahead-rival-{os.getpid()}-*"))


def test_a_childs_memory_is_seen_and_held_to_the_limit(real_home: Home) -> None:
    found = run_limited(llama_job(tiny_model()), real_home, 256 * MB, 120)
    assert found.measured.steps == 4
    assert found.measured.tokens_per_s > 0
    assert 8 * MB < found.own_bytes <= found.used_bytes <= found.limit_bytes
    assert found.own_bytes <= found.peak_bytes <= found.limit_bytes


def test_a_disks_read_ahead_is_another_one_for_a_while(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    disk, devices = tmp_path / "disk", tmp_path / "devices"
    (disk / "queue").mkdir(parents=True)
    (disk / "partition").mkdir()
    devices.mkdir()
    assert read_ahead_kb(tmp_path, devices) == 0
    with pytest.raises(EngineError, match="no read-ahead"), set_read_ahead(tmp_path, 1, devices):
        pass
    file = disk / "queue" / "read_ahead_kb"
    file.write_text("8192\n")
    link = devices / f"{os.major(number)}:{os.minor(number)}"
    link.symlink_to(disk / "partition")
    assert read_ahead_kb(tmp_path, devices) == 8192
    with pytest.raises(KeyboardInterrupt), set_read_ahead(tmp_path, 128, devices):
        assert file.read_text() == "128"
        raise KeyboardInterrupt
    assert file.read_text() == "8192\n"
    with set_read_ahead(tmp_path, 0, devices):
        assert file.read_text() == "8192\n"


def test_a_dropped_file_is_read_from_disk_again(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(os.urandom(4 * MB))
    kind = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True)
    if kind.stdout.strip() in ("tmpfs", "ramfs", "overlayfs"):
        pytest.skip("needs a disk below the page cache")
    path.read_bytes()
    assert page_cache.resident_bytes(path) == 4 * MB
    page_cache.drop([path])
    assert page_cache.resident_bytes(path) < 0.1 * MB
    mapped = np.memmap(path, np.uint8, "r")
    assert mapped.sum() > 0  # every page is in use now
    with pytest.raises(EngineError, match="Another program has it open"):
        page_cache.drop([path])
