"""Work on model files in processes of their own. On the real engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import jobs as jobs_module
from engine.jobs import JobDone, JobEvent, JobFailed, JobId, JobProgress, JobRunner
from engine.model_info import ModelInfo, inspect_model
from engine.pack import PackFile, pack_path, why_unusable
from tests.helpers.listening import Listener, wait_until_gone
from tests.helpers.models import tiny_model


class Jobs(Listener[JobEvent]):
    def __init__(self) -> None:
        self.runner = JobRunner()
        super().__init__(self.runner)

    def end(self, job: JobId) -> JobDone | JobFailed:
        self.until(lambda: self.ends(job) != [])
        (end,) = self.ends(job)
        return end

    def ends(self, job: JobId) -> list[JobDone | JobFailed]:
        return [
            event
            for event in self.events
            if not isinstance(event, JobProgress) and event.job == job
        ]

    def pids(self) -> list[int]:
        return [task.child.pid for task in self.runner._running if task.child is not None]


@pytest.fixture(scope="module")
def model() -> Path:
    return tiny_model("q4_0")


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.runner.close()
    assert made.pids() == []


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> "pytest.MonkeyPatch":
    monkeypatch.setattr(jobs_module, "HOST", "tests.helpers.odd_host")
    monkeypatch.setenv("RUNAHEAD_TEST_KIND", "job")
    return monkeypatch


def test_inspecting_says_what_this_process_would_find(jobs: Jobs, model: Path) -> None:
    end = jobs.end(jobs.runner.inspect(model))
    assert isinstance(end, JobDone) and isinstance(end.result, ModelInfo)
    assert end.result == inspect_model(model)


def test_inspecting_what_is_no_model_says_so(jobs: Jobs, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("This is no model at all.")
    end = jobs.end(jobs.runner.inspect(path))
    assert isinstance(end, JobFailed) and not end.cancelled
    assert "notes.txt" in end.message and "not a GGUF" in end.message and end.hint
    absent = jobs.end(jobs.runner.inspect(tmp_path / "absent.gguf"))
    assert isinstance(absent, JobFailed) and "absent.gguf" in absent.message and absent.hint


def test_packing_builds_the_pack_in_its_usual_place(jobs: Jobs, model: Path) -> None:
    job = jobs.runner.pack(model)
    end = jobs.end(job)
    assert isinstance(end, JobDone) and isinstance(end.result, PackFile)
    info = inspect_model(model)
    assert end.result.path == str(pack_path(info))
    assert why_unusable(pack_path(info), info, verify=True) == ""
    assert end.result.experts == info.n_layer * info.n_expert
    last = jobs.events[-2]
    assert isinstance(last, JobProgress) and (last.job, last.stage) == (job, "pack")
    assert last.done == last.total > 0


def test_packing_never_overwrites_what_is_no_pack(jobs: Jobs, model: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.pack"
    mine.write_text("mine")
    end = jobs.end(jobs.runner.pack(model, mine))
    assert isinstance(end, JobFailed) and "mine.pack" in end.message and end.hint
    assert mine.read_text() == "mine"
    new = tmp_path / "new.pack"
    for _ in range(2):  # its own pack it replaces
        made = jobs.end(jobs.runner.pack(model, new))
        assert isinstance(made, JobDone) and isinstance(made.result, PackFile)
        assert made.result.path == str(new)


def test_a_pack_is_cancelled_on_the_way_and_leaves_nothing(
    jobs: Jobs, model: Path, home: Path, odd: pytest.MonkeyPatch
) -> None:
    odd.setenv("RUNAHEAD_TEST_HOST", "stays in pack")
    job = jobs.runner.pack(model)
    jobs.until(lambda: any(isinstance(event, JobProgress) for event in jobs.events))
    (pid,) = jobs.pids()
    assert [path.suffix for path in (home / "packs").iterdir()] != [".pack"]
    jobs.runner.cancel(job)
    end = jobs.end(job)
    assert isinstance(end, JobFailed) and end.cancelled
    wait_until_gone(pid, 10)
    assert list((home / "packs").iterdir()) == []
    jobs.runner.cancel(job)
    jobs.listen()
    assert jobs.ends(job) == [end]


def test_a_job_that_does_not_listen_is_killed(
    jobs: Jobs, model: Path, odd: pytest.MonkeyPatch
) -> None:
    odd.setenv("RUNAHEAD_TEST_HOST", "is deaf")
    job = jobs.runner.inspect(model)
    (pid,) = jobs.pids()
    jobs.runner.cancel(job)
    end = jobs.end(job)
    assert isinstance(end, JobFailed) and end.cancelled
    wait_until_gone(pid, 10)


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [("crashes", "SIGSEGV"), ("leaves", "CHECK failed"), ("talks nonsense", "cannot be read")],
)
def test_a_job_that_crashes_fails_with_a_sentence(
    jobs: Jobs, model: Path, odd: pytest.MonkeyPatch, behaviour: str, said: str
) -> None:
    odd.setenv("RUNAHEAD_TEST_HOST", behaviour)
    end = jobs.end(jobs.runner.inspect(model))
    assert isinstance(end, JobFailed) and not end.cancelled
    assert model.name in end.message and said in end.message and end.hint


def test_jobs_wait_for_each_other_and_can_be_cancelled_while_they_do(
    jobs: Jobs, model: Path, odd: pytest.MonkeyPatch
) -> None:
    odd.setenv("RUNAHEAD_TEST_HOST", "stays in pack")
    first, second = jobs.runner.pack(model), jobs.runner.pack(model)
    inspected = jobs.runner.inspect(model)  # short ones do not wait for long ones
    assert isinstance(jobs.end(inspected), JobDone)
    assert len(jobs.pids()) == 1
    jobs.runner.cancel(second)
    end = jobs.end(second)
    assert isinstance(end, JobFailed) and end.cancelled
    jobs.runner.cancel(first)
    assert isinstance(jobs.end(first), JobFailed)


def test_many_files_are_inspected_two_at_a_time(jobs: Jobs, model: Path) -> None:
    numbers = [jobs.runner.inspect(model) for _ in range(6)]
    most = 0
    while not all(jobs.ends(number) for number in numbers):
        most = max(most, len(jobs.pids()))
        jobs.until(lambda: True)
    assert most == 2
    assert all(isinstance(jobs.end(number), JobDone) for number in numbers)


def test_closing_ends_all_jobs(jobs: Jobs, model: Path, odd: pytest.MonkeyPatch) -> None:
    odd.setenv("RUNAHEAD_TEST_HOST", "stays in pack")
    numbers = [jobs.runner.pack(model), jobs.runner.pack(model), jobs.runner.inspect(model)]
    pids = jobs.pids()
    jobs.runner.close()
    for pid in pids:
        wait_until_gone(pid, 0)
    jobs.listen()
    assert all(len(jobs.ends(number)) == 1 for number in numbers)
