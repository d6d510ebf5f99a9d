"""Runs are read in pieces, give the same figures as when read whole, and are never trusted."""

import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest

from app.runs import comparison, series
from app.runs.picture import SHARED, picture_of
from app.runs.run_summary import decode_speed, read_summary, with_steps
from app.runs.step_reader import StepReader, records_between
from engine import metrics
from engine.link_speed import LinkSpeed
from engine.runlog.reader import RunLog
from engine.runlog.timeline import write_timeline
from tests.helpers.made_up_records import N_LAYER
from tests.helpers.made_up_runs import EXPERTS_BYTES, all_records, made_up_run, writer_of


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.mark.parametrize("piece", [1, 7, 400, 1 << 17])
def test_steps_read_in_pieces_are_those_read_whole(runs: Path, piece: int) -> None:
    folder = made_up_run(runs, n_steps=8)
    if piece == 1:  # slow: a few records are enough
        folder = made_up_run(runs, n_steps=3, n_requests=1)
    whole = RunLog(folder).steps()
    read = StepReader(folder, piece).read(finished=False)
    assert len(whole) in (3, 8)
    np.testing.assert_array_equal(read, whole)


def test_a_run_that_goes_on_is_read_further_not_again(runs: Path) -> None:
    writer = writer_of(runs)
    records = all_records(runs, 10)
    cuts = [0, len(records) // 3, len(records) // 3 + 5, len(records)]
    reader = StepReader(writer.folder, 500)
    lengths = []
    for begin, end in itertools.pairwise(cuts):
        writer.append(records[begin:end])
        lengths.append(len(reader.read(finished=False)))
    assert lengths[0] < lengths[2] == 10
    np.testing.assert_array_equal(reader.read(finished=False), metrics.step_table(records))
    writer.close()


def test_a_run_of_days_is_read_in_its_order(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = all_records(runs, 10)
    writer = writer_of(runs, chunk_bytes=whole.nbytes // 5)
    writer._n_chunks = 9998  # so many files had gone before
    for part in np.array_split(whole, 4):
        writer.append(part)
    writer.close()
    assert len(list(writer.folder.glob("events-*.bin"))) == 4
    np.testing.assert_array_equal(RunLog(writer.folder).records(), whole)
    steps = StepReader(writer.folder, 100).read(finished=True)
    np.testing.assert_array_equal(steps, metrics.step_table(whole))


def test_a_record_that_is_half_written_waits_for_its_rest(runs: Path) -> None:
    folder = made_up_run(runs, n_steps=4, ended=False)
    path = folder / "events-0000.bin"
    data = path.read_bytes()
    reader = StepReader(folder)
    path.write_bytes(data[: len(data) // 2 + 13])
    reader.read(finished=False)
    path.write_bytes(data)
    assert len(reader.read(finished=False)) == 4


def test_the_steps_of_a_finished_run_are_kept_beside_it(runs: Path) -> None:
    folder = made_up_run(runs, n_steps=5)
    first = StepReader(folder).read(finished=True)
    (kept,) = folder.glob("steps-*.npy")
    events = folder / "events-0000.bin"
    events.write_bytes(bytes(events.stat().st_size))  # not read again
    np.testing.assert_array_equal(StepReader(folder).read(finished=True), first)
    kept.write_bytes(b"damaged")
    assert len(StepReader(folder).read(finished=True)) != len(first)  # read again


def test_a_folder_that_cannot_be_written_to_is_read_all_the_same(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made_up_run(runs, n_steps=3)

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    assert len(StepReader(folder).read(finished=True)) == 3
    assert list(folder.glob("*.npy")) == []
    assert list(folder.glob(".steps*")) == []


def test_a_summary_says_what_the_run_was(runs: Path) -> None:
    folder = made_up_run(
        runs, policy="lockstep-lfu", link=LinkSpeed(2 * 10**9), marks=((3, "cache 50%"),)
    )
    run = read_summary(folder)
    assert (run.state, run.policy, str(run.link)) == ("finished", "lockstep-lfu", "2 GB/s")
    assert run.cache_text == "30% · 1.22 GB"
    assert [mark.text for mark in run.marks] == ["cache 50%"]
    assert run.n_bytes > 10_000
    steps = StepReader(folder).read(finished=True)
    full = with_steps(run, steps)
    assert full.figures is not None
    assert (full.figures.steps, full.requests) == (12, 3.0)
    assert full.decode_per_s == pytest.approx(1e3 * 36 / steps["step_ms"].sum())


def test_pauses_between_steps_do_not_count_as_decoding(runs: Path) -> None:
    steps = StepReader(made_up_run(runs)).read(finished=True).copy()
    before = decode_speed(steps)
    steps["begin_ns"][6:] += 10**12
    steps["end_ns"][6:] += 10**12
    assert decode_speed(steps) == before
    assert decode_speed(steps[:0]) == 0.0


def test_running_crashed_and_damaged_are_told_apart(runs: Path) -> None:
    running = writer_of(runs)
    assert read_summary(running.folder).state == "running"
    running.close()
    assert read_summary(running.folder).state == "finished"
    crashed = made_up_run(runs, ended=False)
    assert read_summary(crashed).state == "crashed"
    for content in (b"{", b"\x00" * 100, b'{"format": 7}', b"", b'{"a":' * 100_000):
        (crashed / "meta.json").write_bytes(content)
        summary = read_summary(crashed)
        assert summary.state == "damaged"
        assert summary.error
    shutil.rmtree(crashed)
    assert read_summary(crashed).state == "damaged"


@pytest.mark.parametrize("damage", ["zeros", "ones", "noise", "some bytes"])
def test_records_that_a_disk_has_changed_are_left_out_and_the_others_drawn(
    runs: Path, damage: str
) -> None:
    folder = made_up_run(runs)
    whole = len(RunLog(folder).steps())
    rng = np.random.default_rng(0)
    for path in folder.glob("events-*.bin"):
        data = np.frombuffer(path.read_bytes(), dtype=np.uint8).copy()
        if damage == "some bytes":
            data[rng.integers(0, len(data), 40)] ^= 0xFF
        else:
            noise = rng.integers(0, 256, len(data)).astype(np.uint8)
            data[:] = {"zeros": 0, "ones": 0xFF, "noise": noise}[damage]
        path.write_bytes(data.tobytes())
    steps = StepReader(folder).read(finished=True)
    assert (steps["end_ns"] > steps["begin_ns"]).all()
    assert len(steps) > whole / 2 if damage == "some bytes" else len(steps) <= whole
    assert len(RunLog(folder).steps()) == len(steps)
    if len(steps):
        first = steps[:2]
        records = records_between(folder, int(first["begin_ns"].min()), int(first["end_ns"].max()))
        assert picture_of(records, first).length_ms > 0


def test_runs_in_different_conditions_are_called_unfair(runs: Path) -> None:
    def run(**options: object) -> "object":
        folder = made_up_run(runs, n_steps=4, **options)  # type: ignore[arg-type]
        return with_steps(read_summary(folder), StepReader(folder).read(finished=True))

    base = run()
    assert comparison.differences(base, run(policy="lockstep-lfu")) == []  # type: ignore[arg-type]

    def found(**options: object) -> str:
        return "; ".join(comparison.differences(base, run(**options)))  # type: ignore[arg-type]

    assert found(cache_bytes=EXPERTS_BYTES // 2) == "cache 30% · 1.22 GB / 50% · 2.04 GB"
    assert found(link=LinkSpeed(10**9)) == "link full / 1 GB/s"
    assert "model Made up 30B (12ab34cd) / Other (12ab34cd)" in found(title="Other")
    assert found(n_requests=8) == "requests per step 3 / 8"
    assert found(n_threads=2) == "threads 0 / 2"
    assert "run 2 was changed while it ran (cache 10%)" in found(marks=((1, "cache 10%"),))


def test_a_comparison_has_ratios_and_says_which_is_better(runs: Path) -> None:
    one, other = (
        with_steps(read_summary(folder), StepReader(folder).read(finished=True))
        for folder in (made_up_run(runs, n_requests=2), made_up_run(runs, n_requests=8))
    )
    lines = {line.name: line for line in comparison.compare(one, other)}
    assert one.figures and other.figures
    ratio = other.figures.step_ms / one.figures.step_ms
    assert ratio > 1
    assert lines["Step"].ratio == f"{ratio:.2f}×"
    assert lines["Step"].better == -1
    assert lines["Tokens/s while decoding"].better == 1
    assert lines["Requests per step"].better == 0
    assert lines["Of these prefetched"].ratio == "–"


def test_shares_of_a_step_add_up_to_all_of_it(runs: Path) -> None:
    steps = StepReader(made_up_run(runs)).read(finished=True)
    both, link, compute, neither = series.shares(steps)
    np.testing.assert_allclose(both + link + compute + neither, 100.0)
    assert ((series.hit_rates(steps) > 0) & (series.hit_rates(steps) < 100)).all()


def test_thinning_keeps_the_mean_and_the_ends(runs: Path) -> None:
    values = np.random.default_rng(1).random(10_007)
    x, means = series.thinned(values, 100)
    assert len(x) == len(means) == 100
    assert (x[0] < 60) and (x[-1] > 10_007 - 60)
    weights = np.diff(np.linspace(0, 10_007, 101).astype(int))
    assert np.average(means, weights=weights) == pytest.approx(values.mean())
    few = series.thinned(values[:5])
    np.testing.assert_array_equal(few[1], values[:5])


def test_a_picture_holds_every_group_and_fetch_of_its_steps(runs: Path) -> None:
    folder = made_up_run(runs, n_steps=6)
    steps = StepReader(folder).read(finished=True)[2:4]
    begin, end = int(steps["begin_ns"].min()), int(steps["end_ns"].max())
    records = records_between(folder, begin, end)
    picture = picture_of(records, steps)
    assert picture.requests == (0, 1, 2)
    assert [number for _, number in picture.marks] == [2, 3]
    assert picture.marks[0][0] == 0.0
    groups = [block for block in picture.blocks if block.short]
    assert len(groups) == 2 * 2 * N_LAYER  # steps, groups per layer
    assert {len(block.requests) for block in groups} == {1, 2}
    reads = [block for block in picture.blocks if block.lane > 0]
    assert len(reads) >= int(steps["fetched"].sum())
    assert any(block.requests == (SHARED,) for block in picture.blocks)
    assert all(0 <= b.begin <= b.end <= picture.length_ms for b in picture.blocks)
    assert picture.lanes[0] == "compute"


def test_the_exported_picture_shows_the_chosen_steps(runs: Path, tmp_path: Path) -> None:
    log = RunLog(made_up_run(runs, n_steps=6))
    path = tmp_path / "steps.png"
    assert write_timeline(log.records(), path, n_steps=3, first_step=2) == 3
    assert write_timeline(log.records(), path, n_steps=3, first_step=5) == 1  # the last one
    path.unlink()
    assert write_timeline(log.records(), path, n_steps=3, first_step=6) == 0
    assert not path.exists()
