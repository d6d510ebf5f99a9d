"""The page of runs: found, looked at, compared, exported, deleted; the window never reads."""

import csv
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.runs import run_index
from app.runs.run_summary import RunSummary
from app.runs.run_table import state_text
from app.runs.runs_page import RunsPage
from app.runs.step_reader import StepReader
from app.settings.settings import Settings
from app.theme.theme import Theme
from engine import folders
from engine.link_speed import LinkSpeed
from tests.helpers.made_up_runs import made_up_run, writer_of


@pytest.fixture
def runs(home: Path) -> Path:
    folder = folders.run_logs()
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def page(qtbot: QtBot, runs: Path, settings: Settings, theme: Theme) -> Iterator[RunsPage]:
    page = RunsPage(settings, theme)
    page.resize(1024, 700)
    yield page
    page.close()
    page.deleteLater()
    settings.close()


def shown(qtbot: QtBot, page: RunsPage) -> list[RunSummary]:
    """Every run, once its figures are there."""
    with qtbot.waitSignal(page.index.listed):
        page.show()
    qtbot.waitUntil(
        lambda: all(r.figures is not None or r.state == "damaged" for r in page.index.all())
    )
    return page.index.all()


def box(page: RunsPage) -> QMessageBox:
    return page.findChildren(QMessageBox)[-1]


def cell(page: RunsPage, row: int, column: int) -> str:
    return str(page.table.model().index(row, column).data())


def test_without_runs_the_page_says_what_will_be_here(qtbot: QtBot, page: RunsPage) -> None:
    shown(qtbot, page)
    assert page.stack.currentWidget() is page.empty


def test_every_run_is_listed_with_its_figures(qtbot: QtBot, page: RunsPage, runs: Path) -> None:
    made_up_run(runs, started="2026-11-01T10:00:00.000+00:00", policy="lockstep-lfu")
    made_up_run(runs, started="2026-11-02T10:00:00.000+00:00", ended=False, n_steps=7)
    running = writer_of(runs, started="2026-11-03T10:00:00.000+00:00")
    (runs / "20200101-000000-bad").mkdir()
    (runs / "20200101-000000-bad" / "meta.json").write_text("{")
    assert len(shown(qtbot, page)) == 4
    assert [cell(page, row, 9) for row in range(4)] == ["Running", "Cut off", "Finished", "Damaged"]
    assert [cell(page, row, 4) for row in range(4)] == ["–", "7", "12", ""]
    assert [cell(page, row, 2) for row in range(4)] == ["bevy", "bevy", "lockstep-lfu", ""]
    assert cell(page, 2, 6).endswith("%")
    running.close()


def test_no_record_is_read_in_the_windows_thread(
    qtbot: QtBot, page: RunsPage, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()
    real_read, real_summary = StepReader.read, run_index.read_summary

    def read(reader: StepReader, *, finished: bool) -> object:
        threads.add(threading.current_thread())
        return real_read(reader, finished=finished)

    def summary(folder: Path) -> RunSummary:
        threads.add(threading.current_thread())
        return real_summary(folder)

    monkeypatch.setattr(StepReader, "read", read)
    monkeypatch.setattr(run_index, "read_summary", summary)
    for _ in range(3):
        made_up_run(runs)
    shown(qtbot, page)
    assert threads
    assert threading.main_thread() not in threads


def test_the_newest_run_is_plotted_with_its_marks(qtbot: QtBot, page: RunsPage, runs: Path) -> None:
    made_up_run(runs, n_steps=20, marks=((9, "cache 50%"),))
    shown(qtbot, page)
    charts = page.details.charts
    qtbot.waitUntil(lambda: len(charts.hits._curves) == 1)
    steps = page.index.steps(page.index.all()[0].name)
    assert steps is not None
    np.testing.assert_array_equal(charts.step_ms._curves[0][2], steps["step_ms"])
    (line,) = charts.step_ms._lines
    assert line.value() == 9.5
    assert line.label.format == "cache 50%"
    charts.step_ms.point_at(4)
    assert charts.step_ms.legend._values[0] == f"{steps['step_ms'][4]:.4g} ms"


def test_of_changes_in_quick_succession_the_last_is_marked(
    qtbot: QtBot, page: RunsPage, runs: Path
) -> None:
    dragged = [(50, "cache 50%"), (51, "cache 60%"), (51, "cache 70%"), (52, "policy bevy")]
    made_up_run(runs, n_steps=200, marks=(*dragged, (90, "cache 30%"), (150, "cache 20%")))
    shown(qtbot, page)
    charts = page.details.charts
    qtbot.waitUntil(lambda: len(charts.step_ms._lines) > 0)
    shown_marks = [(line.value(), line.label.format) for line in charts.step_ms._lines]
    assert shown_marks == [
        (51.5, "cache 70%"),
        (52.5, "policy bevy"),
        (90.5, "cache 30%"),
        (150.5, "cache 20%"),
    ]


def test_a_click_on_a_step_shows_its_timeline(qtbot: QtBot, page: RunsPage, runs: Path) -> None:
    made_up_run(runs, n_steps=20)
    shown(qtbot, page)
    qtbot.waitUntil(lambda: len(page.details.charts.step_ms._curves) == 3)
    page.details.charts.step_chosen.emit(11)
    assert page.details.tabs.currentWidget() is page.details.timeline
    view = page.details.timeline.view
    qtbot.waitUntil(lambda: view._picture is not None and view._picture.marks[0][1] == 11)
    assert page.details.timeline.chosen == (11, 2)
    page.details.timeline.on_button.click()
    qtbot.waitUntil(lambda: view._picture is not None and view._picture.marks[0][1] == 13)
    page.details.timeline.choose(11)
    view.resize(800, 200)
    found = {view.block_at(p) for p in _points(view.width())}
    assert any(block is not None and "group of" in block.text for block in found)


def _points(width: int) -> "list[object]":
    from PySide6.QtCore import QPointF

    return [QPointF(x, 40) for x in range(70, width)]


def test_two_runs_are_laid_over_each_other_and_differences_told(
    qtbot: QtBot, page: RunsPage, runs: Path
) -> None:
    made_up_run(runs, started="2026-11-01T10:00:00.000+00:00", n_steps=9)
    made_up_run(
        runs,
        started="2026-11-02T10:00:00.000+00:00",
        policy="lockstep-lfu",
        link=LinkSpeed(10**9),
    )
    found = shown(qtbot, page)
    page.select(found[0].name, found[1].name)
    details = page.details
    qtbot.waitUntil(lambda: len(details.charts.hits._curves) == 2)
    assert [name for name, _, _ in details.charts.hits._curves] == ["1 bevy", "2 lockstep-lfu"]
    assert "link full / 1 GB/s" in details.note.text()
    assert details.note.isVisible()
    rows = [details.figures.topLevelItem(n) for n in range(details.figures.topLevelItemCount())]
    steps = next(item for item in rows if item and item.text(0) == "Steps")
    assert [steps.text(column) for column in (1, 2, 3)] == ["9", "12", "1.33×"]
    assert not details.tabs.isTabVisible(1)


def test_a_run_that_cannot_be_read_stays_damaged_and_is_not_tried_again(
    qtbot: QtBot, page: RunsPage, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made_up_run(runs)
    (folder / "events-0001.bin").mkdir()
    shown(qtbot, page)
    assert cell(page, 0, 9) == "Damaged"
    monkeypatch.setattr(StepReader, "read", lambda *_, **__: pytest.fail("read again"))
    with qtbot.waitSignal(page.index.listed):
        page.refresh()
    assert cell(page, 0, 9) == "Damaged"


def test_options_that_a_disk_has_changed_are_no_fault(
    qtbot: QtBot, page: RunsPage, runs: Path
) -> None:
    odd = {"link": {"bytes_per_s": "fast"}, "context": "long", "n_threads": [4], "policy": 7}
    folder = made_up_run(runs, title="ab c" * 100_000)
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | {"options": odd}))
    page.refresh()
    qtbot.waitUntil(lambda: page.details.names == (folder.name,))
    qtbot.waitUntil(lambda: page.index.steps(folder.name) is not None)
    assert len(page.details.title.text()) < 300


def test_a_run_that_goes_on_grows_in_the_list(qtbot: QtBot, page: RunsPage, runs: Path) -> None:
    from tests.helpers.made_up_runs import all_records

    writer = writer_of(runs)
    records = all_records(runs, 10)
    writer.append(records[: len(records) // 2])
    shown(qtbot, page)
    before = int(cell(page, 0, 4))
    assert 0 < before < 10
    writer.append(records[len(records) // 2 :])
    page.refresh()
    qtbot.waitUntil(lambda: cell(page, 0, 4) == "10")
    page.ask_delete()
    assert not page.findChildren(QMessageBox)  # a running one cannot be deleted
    writer.close()


def test_selection_stays_when_runs_come_and_go(qtbot: QtBot, page: RunsPage, runs: Path) -> None:
    first = made_up_run(runs, title="First", n_steps=2)
    second = made_up_run(runs, title="Second", n_steps=2)
    shown(qtbot, page)
    page.select(first.name)
    (runs / second.name / "meta.json").unlink()
    made_up_run(runs, title="Third", n_steps=2)
    with qtbot.waitSignal(page.index.listed):
        page.refresh()
    assert [run.title for run in page.selected()] == ["First"]
    assert page.table.model().rowCount() == 2


def test_deleting_asks_and_frees(qtbot: QtBot, page: RunsPage, runs: Path) -> None:
    folder = made_up_run(runs)
    shown(qtbot, page)
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_Delete)
    assert "This frees" in box(page).informativeText()
    with qtbot.waitSignal(page.index.listed):
        next(b for b in box(page).buttons() if b.text() == "Delete").click()
    assert not folder.exists()
    assert page.stack.currentWidget() is page.empty


def test_old_runs_go_as_the_settings_say(
    qtbot: QtBot, page: RunsPage, runs: Path, settings: Settings
) -> None:
    kept = [made_up_run(runs, n_steps=1) for _ in range(5)][3:]
    settings.set("keep_runs", 2)
    with qtbot.waitSignal(page.index.pruned) as pruned:
        page.show()
    assert pruned.args == [3]
    assert sorted(path.name for path in runs.iterdir()) == sorted(path.name for path in kept)
    assert "The newest 2 are kept" in page.kept.text()


@pytest.mark.parametrize("form", ["csv", "jsonl", "chrome", "png"])
def test_a_run_is_exported(
    qtbot: QtBot, page: RunsPage, runs: Path, tmp_path: Path, form: str
) -> None:
    made_up_run(runs, n_steps=5)
    (run,) = shown(qtbot, page)
    qtbot.waitUntil(lambda: page.details.timeline.chosen == (2, 2))
    path = tmp_path / f"out.{form}"
    with qtbot.waitSignal(page.export.finished, timeout=60_000):
        page.export_to(run, path, form)  # type: ignore[arg-type]
        assert page.progress.isVisibleTo(page)
        assert not page.export_button.isEnabled()
    data = path.read_bytes()
    if form == "csv":
        assert len(list(csv.DictReader(data.decode().splitlines()))) == 5
    elif form == "jsonl":
        assert json.loads(data.splitlines()[0])["run"]["model"]["title"] == run.title
    elif form == "chrome":
        assert json.loads(data)["traceEvents"]
    else:
        assert data.startswith(b"\x89PNG")
    assert page.export_button.isEnabled()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_an_export_that_fails_says_why(
    qtbot: QtBot, page: RunsPage, runs: Path, tmp_path: Path
) -> None:
    made_up_run(runs)
    (run,) = shown(qtbot, page)
    with qtbot.waitSignal(page.export.failed, timeout=60_000):
        page.export_to(run, tmp_path / "nowhere" / "out.csv", "csv")
    assert page.banner.isVisible()
    assert "No such file or directory" in page.banner.text.text()
    assert page.export_button.isEnabled()


def test_a_cancelled_export_leaves_nothing(
    qtbot: QtBot, page: RunsPage, runs: Path, tmp_path: Path
) -> None:
    made_up_run(runs, n_steps=60, n_requests=16)
    (run,) = shown(qtbot, page)
    target = tmp_path / "target"
    target.mkdir()
    page.export_to(run, target / "out.jsonl", "jsonl")
    qtbot.waitUntil(lambda: any(target.iterdir()), timeout=60_000)
    with qtbot.waitSignal(page.export.failed, timeout=60_000) as failed:
        page.progress.cancel_button.click()
    assert failed.args[1] == ""
    assert list(target.iterdir()) == []
    assert not page.banner.isVisible()


def test_closing_the_page_ends_an_export(
    qtbot: QtBot, page: RunsPage, runs: Path, tmp_path: Path
) -> None:
    made_up_run(runs, n_steps=60, n_requests=16)
    (run,) = shown(qtbot, page)
    target = tmp_path / "target"
    target.mkdir()
    page.export_to(run, target / "out.jsonl", "jsonl")
    qtbot.waitUntil(lambda: any(target.iterdir()), timeout=60_000)
    page.close()
    assert list(target.iterdir()) == []


def test_fifty_runs_are_listed_before_their_records_are_read(
    qtbot: QtBot, page: RunsPage, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(50):
        made_up_run(runs, n_steps=1, title=f"Model no{n:02d}")
    go_on = threading.Event()
    real_read = StepReader.read

    def read(reader: StepReader, *, finished: bool) -> object:
        go_on.wait(10)
        return real_read(reader, finished=finished)

    monkeypatch.setattr(StepReader, "read", read)
    with qtbot.waitSignal(page.index.listed):
        page.show()
    assert page.table.model().rowCount() == 50
    assert {state_text(run) for run in page.index.all()} == {"Finished"}
    assert cell(page, 0, 4) == "…"
    page._sorted.search("model no07")
    assert page.table.model().rowCount() == 1
    page.search.searched.emit("no such run")
    assert page.kept.text() == "No run has these words."
    page.search.searched.emit("")
    assert page.kept.text().startswith("50 runs")
    go_on.set()
    qtbot.waitUntil(lambda: all(run.figures for run in page.index.all()), timeout=20_000)
