"""Adding tells what became of every file that was named."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from app.models.add_bar import summary
from app.models.adding import Adding, Report
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from engine.model_info import ModelInfo
from tests.helpers.fake_jobs import FakeJobs, model_info

Add = Callable[..., Report]


@pytest.fixture
def adding(service: EngineService, library: ModelLibrary) -> Iterator[Adding]:
    adding = Adding(service, library)
    yield adding
    adding.close()


@pytest.fixture
def add(qtbot: QtBot, adding: Adding) -> Add:
    def add(*paths: Path) -> Report:
        with qtbot.waitSignal(adding.finished) as finished:
            adding.add(paths)
        report: Report = finished.args[0]
        return report

    return add


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def gguf(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF")
    return path


def test_a_file_becomes_a_model(add: Add, library: ModelLibrary, folder: Path) -> None:
    report = add(gguf(folder, "one.gguf"))
    assert [model.title for model in report.added] == ["one"]
    assert library.all() == list(report.added)
    assert summary(report) == ("", "", "")


def test_all_shards_together_make_one_model(
    add: Add, library: ModelLibrary, folder: Path, fake_jobs: FakeJobs
) -> None:
    shards = [gguf(folder, f"Big-{n:05d}-of-00003.gguf") for n in (1, 2, 3)]
    report = add(shards[2], shards[1], shards[0])
    assert len(report.added) == 1
    assert fake_jobs.calls == [("inspect", str(shards[0]))]
    again = add(shards[1])
    assert [model.id for model in again.known] == [report.added[0].id]
    assert len(library.all()) == 1


def test_a_missing_shard_is_told_before_anything_is_read(
    add: Add, folder: Path, fake_jobs: FakeJobs
) -> None:
    report = add(gguf(folder, "Big-00001-of-00002.gguf"))
    assert not report.added
    assert "Big-00002-of-00002.gguf" in report.problems[0].why
    assert fake_jobs.calls == []
    title, text, kind = summary(report)
    assert (title, kind) == (
        "1 file could not be added: Big-00001-of-00002.gguf",
        "danger",
    )
    assert "Big-00002-of-00002.gguf" in text


def test_a_file_is_named_once_in_what_is_told(add: Add, folder: Path, fake_jobs: FakeJobs) -> None:
    one, other = gguf(folder, "one.gguf"), gguf(folder, "other.gguf")
    fake_jobs.failures[str(one)] = (f"{one}: is no GGUF file", "")
    fake_jobs.failures[str(other)] = ("It is damaged", "")
    lines = summary(add(one, other))[1].splitlines()
    assert [line.count(str(path)) for line, path in zip(lines, (one, other), strict=True)] == [1, 1]


def test_a_damaged_file_is_told_and_the_next_one_is_added(
    add: Add, folder: Path, fake_jobs: FakeJobs
) -> None:
    bad, good = gguf(folder, "bad.gguf"), gguf(folder, "good.gguf")
    fake_jobs.failures[str(bad)] = ("bad.gguf: magic is not GGUF", "Download it again.")
    report = add(bad, good)
    assert [model.title for model in report.added] == ["good"]
    assert report.problems[0].why == "bad.gguf: magic is not GGUF. Download it again."
    assert summary(report)[2] == "warning"


def test_the_same_content_elsewhere_is_told_as_a_copy(
    add: Add, library: ModelLibrary, folder: Path, fake_jobs: FakeJobs
) -> None:
    one, copy = gguf(folder, "one.gguf"), gguf(folder, "copy.gguf")
    info = model_info(one)
    fake_jobs.infos[str(copy)] = msgspec.structs.replace(
        model_info(copy), fingerprint=info.fingerprint
    )
    add(one)
    report = add(copy)
    assert report.copies == ((str(copy), "one"),)
    assert len(library.all()) == 1


def test_a_missing_model_is_found_again_when_its_file_is_added(
    qtbot: QtBot, add: Add, library: ModelLibrary, folder: Path, fake_jobs: FakeJobs
) -> None:
    one = gguf(folder, "one.gguf")
    known = add(one).added[0]
    moved = one.rename(folder / "moved.gguf")
    with qtbot.waitSignal(library.changed):
        library.look()
    fake_jobs.infos[str(moved)] = msgspec.structs.replace(
        model_info(moved), fingerprint=known.info.fingerprint
    )
    report = add(moved)
    assert [model.id for model in report.known] == [known.id]
    assert library.get(known.id).path == moved


def test_a_folder_is_searched_deeply_and_without_sidecars(
    add: Add, folder: Path, fake_jobs: FakeJobs
) -> None:
    names = ["a.gguf", "org/model/b-00001-of-00002.gguf", "org/model/b-00002-of-00002.gguf"]
    for name in [*names, "org/mmproj-b.gguf", "org/readme.md", "org/c.gguf.part"]:
        gguf(folder, name)
    dense = gguf(folder, "dense.gguf")
    fake_jobs.infos[str(dense)] = model_info(dense, supported=False, reason="it is dense")
    report = add(folder)
    assert [os.fspath(m.path.relative_to(folder)) for m in report.added] == names[:2]
    assert [problem.why for problem in report.skipped] == ["it is dense"]
    assert summary(report)[0] == "2 models added, 1 model cannot be run and was left out"


def test_a_model_that_cannot_run_is_taken_in_when_it_was_named(
    add: Add, folder: Path, fake_jobs: FakeJobs
) -> None:
    dense = gguf(folder, "dense.gguf")
    fake_jobs.infos[str(dense)] = model_info(dense, supported=False, reason="it is dense")
    assert [model.info.reason for model in add(dense).added] == ["it is dense"]


def test_what_could_not_be_added_is_told_with_its_kind_name_and_reason(
    add: Add, folder: Path, fake_jobs: FakeJobs
) -> None:
    bad, empty = gguf(folder, "bad.gguf"), folder / "empty"
    empty.mkdir()
    fake_jobs.failures[str(bad)] = ("It is damaged", "")
    title, text, _ = summary(add(bad, empty))
    assert set(title.split(", ")) == {
        "1 file could not be added: bad.gguf",
        "1 folder could not be added: empty",
    }
    assert f"{bad}: It is damaged" in text
    assert f"{empty}: There is no GGUF file in this folder." in text
    others = [gguf(folder, f"bad{n}.gguf") for n in range(2)]
    for each in others:
        fake_jobs.failures[str(each)] = ("It is damaged", "")
    assert summary(add(*others))[0] == "2 files could not be added"


def test_an_empty_folder_is_told(add: Add, folder: Path) -> None:
    assert "no GGUF file" in add(folder).problems[0].why


def test_a_name_that_no_disk_can_hold_is_told_and_the_others_are_added(
    add: Add, adding: Adding, folder: Path
) -> None:
    report = add(folder / f"{'long' * 100}.gguf", gguf(folder, "one.gguf"))
    assert "does not exist or cannot be read" in report.problems[0].why
    assert [model.title for model in report.added] == ["one"]
    assert not adding.active


def test_a_folder_that_may_not_be_read_is_told_as_that(
    add: Add, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: object) -> object:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("app.models.adding.os.scandir", refuse)
    assert add(folder).problems[0].why == "This folder cannot be read: Permission denied."


def test_cancelling_keeps_what_was_added(
    qtbot: QtBot, adding: Adding, library: ModelLibrary, folder: Path, fake_jobs: FakeJobs
) -> None:
    files = [gguf(folder, f"{n}.gguf") for n in range(5)]

    def stop_at_the_third(name: str, done: int, total: int) -> None:
        if done == 2:
            fake_jobs.held = True
            adding.cancel()

    adding.progressed.connect(stop_at_the_third)
    with qtbot.waitSignal(adding.finished) as finished:
        adding.add(files)
    assert finished.args[0].cancelled
    assert len(library.all()) == 2
    assert not adding.active


def test_a_file_that_the_library_fails_at_does_not_keep_the_others_waiting(
    qtbot: QtBot,
    adding: Adding,
    library: ModelLibrary,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take = library.add

    def fail_at_first(info: ModelInfo) -> KnownModel:
        if info.path.endswith("0.gguf"):
            raise ValueError(info.path)
        return take(info)

    monkeypatch.setattr(library, "add", fail_at_first)
    with qtbot.captureExceptions() as raised, qtbot.waitSignal(adding.finished):
        adding.add([gguf(folder, f"{n}.gguf") for n in range(2)])
    assert len(raised) == 1
    assert [model.title for model in library.all()] == ["1"]
