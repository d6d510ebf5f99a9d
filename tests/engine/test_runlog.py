"""Run logs survive crashes, stay bounded, name nobody, and export to formats that others read."""

import csv
import fcntl
import io
import json
import os
import shutil
import time
import types
from pathlib import Path

import numpy as np
import pytest

from engine import errors, metrics, trace
from engine.atomic_file import write_atomically
from engine.engine import Engine
from engine.options import EngineOptions
from engine.runlog import writer
from engine.runlog.chrome_trace import write_chrome_trace
from engine.runlog.export import export, format_of
from engine.runlog.jsonl import write_jsonl
from engine.runlog.meta import RunMeta, RunModel
from engine.runlog.prune import is_running, prune
from engine.runlog.reader import RunLog, run_folders
from engine.runlog.steps_csv import write_steps_csv
from engine.runlog.writer import RunLogWriter
from engine.sampling import SamplingParams
from engine.trace import Event
from engine.versions import machine, versions


def meta(title: str = "Fake 1B") -> RunMeta:
    return RunMeta(
        started=writer.now_utc(),
        model=RunModel(title, "fake.gguf", "fakemoe", "1234", 3, 16, 2, 1 << 20),
        options={"policy": "bevy"},
        store="pack",
        device="Fake",
        cache_bytes=1 << 19,
        machine=machine(),
        versions=versions(),
    )


def numbered(first: int, n: int) -> trace.Records:
    records = np.zeros(n, dtype=trace.RECORD_DTYPE)
    records["step"] = np.arange(first, first + n)
    records["begin_ns"] = records["end_ns"] = 1000 + records["step"]
    records["event"] = int(Event.HIT)
    return records


@pytest.fixture
def log(fake: types.ModuleType, model: Path) -> RunLog:
    """The log of a short run with two requests and a policy change."""
    with Engine.open(model) as engine:
        for policy in ("bevy", "lockstep-lfu"):
            engine.set_policy(policy)
            for prompt in ("one", "two"):
                engine.submit_prompt(prompt, SamplingParams(max_tokens=6))
            while engine.wait(0):
                engine.poll()
        folder = engine.run_log_folder
    assert folder is not None
    return RunLog(folder)


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    log = RunLogWriter(meta(), tmp_path)
    log.append(numbered(0, 10))
    log.append(numbered(10, 5), dropped=3)
    log.mark(7, "cache 50%")
    log.close()
    read = RunLog(log.folder)
    assert list(read.records()["step"]) == list(range(15))
    assert read.meta.dropped_records == 3
    assert read.meta.ended
    assert [(m.step, m.text) for m in read.marks()] == [(7, "cache 50%")]


def test_a_crash_at_any_byte_leaves_whole_records(tmp_path: Path) -> None:
    log = RunLogWriter(meta(), tmp_path / "runs")
    log.append(numbered(0, 3))
    log.mark(1, "x")
    for size in range(3 * trace.RECORD_DTYPE.itemsize + 1):
        copy = tmp_path / "copy"
        shutil.copytree(log.folder, copy)
        with (copy / "events-0000.bin").open("r+b") as file:
            file.truncate(size)
        with (copy / "marks.jsonl").open("r+b") as file:
            file.truncate(size % 20)
        read = RunLog(copy)
        assert len(read.records()) == size // trace.RECORD_DTYPE.itemsize
        assert read.marks() == []
        assert read.meta.ended == ""
        shutil.rmtree(copy)
    log.close()


def test_a_long_run_keeps_its_newest_records(tmp_path: Path) -> None:
    size = trace.RECORD_DTYPE.itemsize
    log = RunLogWriter(meta(), tmp_path, chunk_bytes=10 * size, max_bytes=30 * size)
    for first in range(0, 100, 5):
        log.append(numbered(first, 5))
    log.close()
    read = RunLog(log.folder)
    kept = list(read.records()["step"])
    assert kept == list(range(70, 100))
    assert read.meta.left_out_records == 70


def test_a_full_disk_ends_the_log_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RunLogWriter(meta(), tmp_path)
    log.append(numbered(0, 3))
    log._close_chunk()
    monkeypatch.setattr(log, "_chunk", _FullDisk())
    log.append(numbered(3, 3))
    assert log.failure == "No space left on device"
    log.append(numbered(6, 3))
    log.mark(1, "x")
    log.close()
    read = RunLog(log.folder)
    assert len(read.records()) == 3
    assert read.meta.ended  # it did not crash


class _FullDisk(io.BytesIO):
    def write(self, data: object) -> int:
        raise OSError(28, "No space left on device")


def test_the_engine_goes_on_without_a_log_and_says_so(
    fake: types.ModuleType, model: Path, home: Path
) -> None:
    home.mkdir()
    (home / "runs").write_text("a file where the folder should be")
    with Engine.open(model, EngineOptions(store="memory")) as engine:
        assert engine.run_log_folder is None
        (notice,) = engine.poll()
        assert "no run log" in str(notice)


def test_old_logs_go_and_running_ones_stay(tmp_path: Path) -> None:
    running = RunLogWriter(meta("0 running"), tmp_path)
    oldest = tmp_path / "00000000-000000-running"
    running.folder.rename(oldest)
    for n in range(5):
        folder = tmp_path / f"20260101-00000{n}-x"
        folder.mkdir()
        (folder / "meta.json").write_text("{}")
        (folder / "events-0000.bin").write_bytes(b"x" * 1000)
    (tmp_path / "not-a-log").mkdir()
    assert prune(tmp_path, max_runs=3, max_bytes=1 << 20) == [
        tmp_path / "20260101-000001-x",
        tmp_path / "20260101-000000-x",
    ]
    assert prune(tmp_path, max_runs=9, max_bytes=2500) == [tmp_path / "20260101-000002-x"]
    assert oldest.exists()
    assert (tmp_path / "not-a-log").exists()
    running._lock.close()  # its folder was moved: only the lock is left to give back
    assert prune(tmp_path, max_runs=0, max_bytes=1)[-1] == oldest
    running._close_chunk()


def test_two_who_ask_at_once_whether_a_run_goes_on_do_not_hear_each_other(tmp_path: Path) -> None:
    log = RunLogWriter(meta(), tmp_path)
    assert is_running(log.folder)
    log.close()
    with (log.folder / "lock").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH)  # as another process does that asks
        assert not is_running(log.folder)


def test_a_log_that_another_process_is_deleting_keeps_no_run_from_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RunLogWriter(meta("old"), tmp_path).close()
    stat = Path.stat

    def vanished(path: Path, **options: bool) -> os.stat_result:
        if path.name == "lock":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "is_file", lambda path: True)
    monkeypatch.setattr(Path, "stat", vanished)
    log = RunLogWriter(meta("new"), tmp_path)
    log.append(numbered(0, 3))
    log.close()
    assert len(RunLog(log.folder).records()) == 3


def test_the_newest_log_comes_first_wherever_the_computer_travelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        for title, zone in (("1", "Asia/Tokyo"), ("2", "America/Los_Angeles")):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            RunLogWriter(meta(title), tmp_path).close()
        titles = [RunLog(folder).meta.model.title for folder in run_folders(tmp_path)]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert titles == ["2", "1"]


def test_a_log_that_cannot_begin_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "write_atomically", full)
    with pytest.raises(OSError, match="No space"):
        RunLogWriter(meta(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_as_many_logs_are_kept_as_the_options_say(fake: types.ModuleType, model: Path) -> None:
    for _ in range(3):
        with Engine.open(model, EngineOptions(store="memory", keep_runs=2)):
            pass
    assert len(run_folders()) == 2


def test_two_runs_in_one_second_have_their_own_folders(tmp_path: Path) -> None:
    logs = [RunLogWriter(meta(), tmp_path) for _ in range(3)]
    for log in logs:
        log.close()
    assert len(set(run_folders(tmp_path))) == 3


def test_a_log_names_no_folder_and_no_person(log: RunLog, model: Path) -> None:
    text = (log.folder / "meta.json").read_text()
    assert str(model.parent) not in text
    assert Path.home().name not in json.loads(text)["machine"].values()
    assert "fake.gguf" in text


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.StorageError, match="is no run log"):
        RunLog(tmp_path)
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(errors.ModelFileError, match=r"meta\.json cannot be read"):
        RunLog(tmp_path)


def test_what_a_disk_changed_in_marks_and_groups_is_left_out(log: RunLog, tmp_path: Path) -> None:
    marks = log.folder / "marks.jsonl"
    marks.write_bytes(b"\0" * 40 + b"\n[[\n" + marks.read_bytes())
    assert [mark.text for mark in log.marks()] == ["policy bevy", "policy lockstep-lfu"]
    (chunk,) = log.folder.glob("events-*.bin")
    records = trace.from_bytes(chunk.read_bytes()).copy()
    groups = np.flatnonzero(records["event"] == int(Event.GROUP))
    records["a"][groups[-3:]] = (0, -1, 1 << 40)
    chunk.write_bytes(records.tobytes())
    assert len(log.records()) == len(records) - 3
    assert len(metrics.group_sizes(log.records())) < 100
    export(log, tmp_path / "a.png", "png")


def test_changes_while_running_are_marked(log: RunLog) -> None:
    assert [mark.text for mark in log.marks()] == ["policy bevy", "policy lockstep-lfu"]
    assert log.marks()[1].step == 5


def test_jsonl_has_the_run_and_one_line_per_event(log: RunLog) -> None:
    file = io.BytesIO()
    n = write_jsonl(log, file)
    first, *lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert first["run"]["model"]["title"] == "Fake 1B"
    assert n == len(lines) == len(log.records())
    steps = [line for line in lines if line["event"] == "step"]
    assert [step["step"] for step in steps] == list(range(10))
    assert set(steps[0]) == {
        *("begin_ns", "end_ns", "step", "request", "layer", "expert", "a", "b", "event", "lane"),
        "part",  # of an expert that was read in parts
    }


def test_csv_has_one_line_per_step(log: RunLog) -> None:
    file = io.StringIO()
    assert write_steps_csv(log.steps(), file) == 10
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [int(row["step"]) for row in rows] == list(range(10))
    steps = log.steps()
    assert float(rows[3]["step_ms"]) == pytest.approx(steps[3]["step_ms"], rel=1e-5)
    assert int(rows[3]["misses"]) == steps[3]["misses"]


def test_chrome_trace_has_a_track_for_the_device_every_reader_and_every_request(
    log: RunLog,
) -> None:
    file = io.BytesIO()
    n = write_chrome_trace(log, file)
    written = json.loads(file.getvalue())
    events = written["traceEvents"]
    assert len(events) == n
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    lanes = {int(lane) for lane in trace.of(log.records(), Event.FETCH)["lane"]}
    assert set(names.values()) == {"steps", "device", *(f"reader {lane}" for lane in lanes)}
    slices = [e for e in events if e["ph"] == "X"]
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in slices)
    groups = [e for e in slices if e.get("cat") == "group"]
    assert {names[e["pid"], e["tid"]] for e in groups} == {"device"}
    assert "L2 x2" in {e["name"] for e in groups}  # lockstep: both requests at once
    fetches = [e for e in slices if e.get("cat") == "fetch"]
    assert fetches and all(names[e["pid"], e["tid"]].startswith("reader") for e in fetches)
    assert {e["name"] for e in slices if e["pid"] == 2} == {f"request {n}" for n in range(4)}
    assert "policy lockstep-lfu" in {e["name"] for e in events if e["ph"] == "i"}


def test_the_timeline_is_a_picture_of_the_last_steps(log: RunLog, tmp_path: Path) -> None:
    from engine.runlog.timeline import timeline_figure

    path = tmp_path / "t.png"
    assert export(log, path, "png", n_steps=3) == 3
    assert path.read_bytes().startswith(b"\x89PNG")
    figure = timeline_figure(log.records(), log.steps()[-2:], "Fake")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "time (ms)"
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["compute", "link 1", "link 2"]
    legend = axes.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["request 2", "request 3", "all requests"]
    summary = metrics.summarise(log.steps()[-2:])
    assert f"{summary.step_ms:.1f} ms" in axes.get_title(loc="left")


def test_an_export_is_whole_or_not_there(
    log: RunLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("engine.runlog.export.write_jsonl", full)
    with pytest.raises(errors.OutOfSpaceError, match=r"a\.jsonl cannot be written"):
        export(log, out / "a.jsonl", "jsonl")
    with pytest.raises(errors.StorageError):
        export(log, tmp_path / "missing" / "a.csv", "csv")
    assert list(out.iterdir()) == []


def test_a_run_without_a_step_has_no_picture(tmp_path: Path) -> None:
    log = RunLogWriter(meta(), tmp_path)
    log.close()
    with pytest.raises(errors.InvalidRequestError, match="no whole step"):
        export(RunLog(log.folder), tmp_path / "a.png", "png")


def test_a_file_name_says_the_format_or_the_error_lists_them() -> None:
    assert format_of(Path("a.JSON")) == "chrome"
    with pytest.raises(errors.InvalidRequestError, match=r"\.jsonl, \.csv, \.json, \.png"):
        format_of(Path("a.txt"))


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomically(path, b"old")
    with pytest.raises(TypeError):
        write_atomically(path, "text")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
