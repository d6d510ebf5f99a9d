"""Crash reports: kept here, bounded, and told."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer, qWarning
from pytestqt.qtbot import QtBot

from app.crash_reports import MOST_PER_RUN, MOST_REPORTS, CrashReports


@pytest.fixture
def reports(qapp: object, tmp_path: Path) -> Iterator[CrashReports]:
    reports = CrashReports(tmp_path / "reports")
    reports.install()
    yield reports
    reports.close()


def texts(reports: CrashReports) -> list[str]:
    return [path.read_text() for path in sorted(reports.folder.glob("crash-*.txt"))]


def raise_it() -> None:
    raise RuntimeError("a bug of ours")


@pytest.mark.qt_no_exception_capture
def test_an_exception_in_a_slot_is_kept_told_and_the_app_goes_on(
    qtbot: QtBot, reports: CrashReports
) -> None:
    with qtbot.waitSignal(reports.reported) as told:
        QTimer.singleShot(0, raise_it)
    assert "a bug of ours" in Path(told.args[0]).read_text()
    assert "raise_it" in texts(reports)[0]


def test_an_exception_in_a_thread_is_kept(
    qtbot: QtBot, reports: CrashReports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "_handlers_before", (lambda *_: None, lambda _: None))
    with qtbot.waitSignal(reports.reported):
        thread = threading.Thread(target=raise_it)
        thread.start()
        thread.join()
    assert "a bug of ours" in texts(reports)[0]


def test_what_is_no_unicode_is_kept_readable(reports: CrashReports) -> None:
    path = reports.write("No such file: 'caf\udce9.gguf'")
    assert path is not None
    assert r"caf\udce9.gguf" in path.read_text()


@pytest.mark.no_qt_log
def test_messages_of_qt_are_in_the_report(reports: CrashReports) -> None:
    qWarning("a widget is unhappy")
    reports.write("Boom")
    assert "a widget is unhappy" in texts(reports)[0]


def test_the_same_fault_is_written_once_and_all_together_few(reports: CrashReports) -> None:
    assert reports.write("same")
    assert reports.write("same") is None
    for number in range(3 * MOST_PER_RUN):
        reports.write(f"fault {number}")
    assert len(texts(reports)) == MOST_PER_RUN


def test_the_oldest_reports_go(reports: CrashReports) -> None:
    for number in range(MOST_REPORTS + 5):
        (reports.folder / f"crash-2020-01-{number:02}.txt").write_text("old")
    reports.write("new")
    assert len(texts(reports)) == MOST_REPORTS
    assert "new" in texts(reports)[-1]


def test_reports_that_are_switched_off_leave_no_file(qapp: object, tmp_path: Path) -> None:
    reports = CrashReports(tmp_path / "reports", enabled=False)
    assert reports.write("Boom") is None
    assert not reports.folder.exists()


CRASH = """
import ctypes, sys
from pathlib import Path
from app.crash_reports import CrashReports
CrashReports(Path(sys.argv[1])).install()
ctypes.string_at(0)
"""


def test_the_next_run_finds_what_killed_the_last_one(qapp: object, tmp_path: Path) -> None:
    died = subprocess.run([sys.executable, "-c", CRASH, str(tmp_path)], timeout=60, check=False)
    assert died.returncode < 0
    reports = CrashReports(tmp_path)
    reports.install()
    try:
        assert reports.found_crash is not None
        assert "Segmentation fault" in reports.found_crash.read_text()
    finally:
        reports.close()
    again = CrashReports(tmp_path)
    again.install()
    again.close()
    assert again.found_crash is None


def test_a_report_is_kept_also_where_the_clock_was_set_back(reports: CrashReports) -> None:
    for n in range(MOST_REPORTS):
        (reports.folder / f"crash-2999-01-01-{n:06d}-1.txt").write_text("later")
    path = reports.write("a bug of ours")
    assert path is not None
    assert "a bug of ours" in path.read_text()
    assert len(texts(reports)) == MOST_REPORTS
