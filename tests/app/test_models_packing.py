"""Packing looks at the disk first, and tells speed, time left and what went wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from app.models.packing import Meter, Packing, PackProgress
from app.models.words import pack_progress_text
from engine.jobs import JobId, JobProgress
from engine.pack import pack_path
from tests.helpers.fake_jobs import FakeJobs, model_info


@pytest.fixture
def packing(service: EngineService, library: ModelLibrary) -> Iterator[Packing]:
    packing = Packing(service, library)
    yield packing
    packing.close()


@pytest.fixture
def model(library: ModelLibrary, tmp_path: Path) -> KnownModel:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    return library.add(model_info(tmp_path / "a.gguf"))


def test_speed_and_time_left_are_those_of_the_last_seconds() -> None:
    meter = Meter()
    assert meter.at(0.0, 0, 1000).per_s is None
    fast = meter.at(1.0, 500, 1000)
    assert (fast.per_s, fast.left_s) == (500.0, 1.0)
    for second in range(2, 30):
        slow = meter.at(float(second), 500 + second, 1000)
    assert slow.per_s == pytest.approx(1.0)
    assert "left" in pack_progress_text(slow)


def test_a_second_stage_begins_its_own_measure() -> None:
    meter = Meter()
    meter.at(0.0, 0, 100)
    meter.at(5.0, 100, 100)
    assert meter.at(6.0, 10, 1000).per_s is None


def test_a_pack_is_built_and_told(
    qtbot: QtBot, packing: Packing, model: KnownModel, fake_jobs: FakeJobs
) -> None:
    seen = []
    packing.changed.connect(lambda id: seen.append(packing.progress(id)))
    packing.start(model)
    qtbot.waitUntil(lambda: packing.progress(model.id) is None)
    assert fake_jobs.calls == [("pack", str(model.path))]
    assert [p.done for p in seen if p and p.total] == [0, 1, 2, 3]


def test_packs_may_be_larger_than_an_int_of_qt(
    qtbot: QtBot, packing: Packing, model: KnownModel, fake_jobs: FakeJobs
) -> None:
    fake_jobs.held = True
    packing.start(model)
    qtbot.waitUntil(lambda: len(fake_jobs.calls) == 1)
    fake_jobs._events.append(JobProgress(job=JobId(1), stage="pack", done=3 * 10**9, total=10**13))
    qtbot.waitUntil(lambda: packing.progress(model.id) == PackProgress(3 * 10**9, 10**13))
    packing.cancel(model.id)


def test_what_a_killed_packing_leaves_is_removed_when_that_is_known(
    qtbot: QtBot, packing: Packing, model: KnownModel, fake_jobs: FakeJobs
) -> None:
    pack = pack_path(model.info)
    pack.parent.mkdir(parents=True)
    left, other = pack.with_name(f"{pack.name}.tmp-1-0"), pack.with_name("other.pack.tmp-1-0")
    for path in (left, other):
        path.write_bytes(bytes(1000))
    fake_jobs.held = True
    packing.start(model)
    packing.cancel(model.id)
    qtbot.waitUntil(lambda: not left.exists())
    assert other.exists()


def test_a_cancelled_pack_is_no_failure(
    qtbot: QtBot, packing: Packing, model: KnownModel, fake_jobs: FakeJobs
) -> None:
    fake_jobs.held = True
    failures: list[str] = []
    packing.failed.connect(lambda id, message, hint: failures.append(message))
    packing.start(model)
    qtbot.waitUntil(lambda: len(fake_jobs.calls) == 1)
    packing.cancel(model.id)
    qtbot.waitUntil(lambda: packing.progress(model.id) is None)
    assert failures == []


def test_a_failure_says_what_and_what_to_try(
    qtbot: QtBot, packing: Packing, model: KnownModel, fake_jobs: FakeJobs
) -> None:
    fake_jobs.failures[str(model.path)] = ("The disk is full", "Free some space.")
    with qtbot.waitSignal(packing.failed) as failed:
        packing.start(model)
    assert failed.args == [model.id, "The disk is full", "Free some space."]
