"""A whole start, in a process of its own: it opens, refuses what it must, and ends when asked."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

PATIENCE_S = 60.0


@contextmanager
def runahead(home: Path | str) -> Iterator["subprocess.Popen[str]"]:
    """`runahead` without arguments; killed at the end if it is still there."""
    process = subprocess.Popen(
        [sys.executable, "-m", "app.main"],
        env={**os.environ, "RUNAHEAD_HOME": str(home), "QT_QPA_PLATFORM": "offscreen"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_window(process: "subprocess.Popen[str]", home: Path) -> None:
    """The library is looked at after the first frame; the database is there a little before."""
    end = time.monotonic() + PATIENCE_S
    while not (home / "conversations.sqlite").exists() and not list(home.glob("*.sqlite*")):
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(1)


def says(process: "subprocess.Popen[str]", text: str) -> bool:
    """Whether it writes this before it ends, or before our patience does."""
    assert process.stderr is not None
    clock = threading.Timer(PATIENCE_S, process.kill)
    clock.start()
    try:
        return any(text in line for line in process.stderr)
    finally:
        clock.cancel()
        clock.join()


def test_it_opens_and_ends_politely_when_asked_to(home: Path) -> None:
    with runahead(home) as process:
        wait_for_window(process, home)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert (home / "settings.json").exists(), "the window's place was not remembered"
    assert list((home / "crash-reports").iterdir()) == []


def test_a_second_window_on_the_same_data_is_told_of_the_first(home: Path) -> None:
    with runahead(home) as first:
        wait_for_window(first, home)
        with runahead(home) as second:
            assert says(second, "already open")
            assert second.wait(PATIENCE_S) == 0, "the first window has come forward instead"


def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(home: Path) -> None:
    with runahead(home) as process:
        wait_for_window(process, home)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    (database,) = home.glob("*.sqlite*")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 9999")
    before = database.read_bytes()
    with runahead(home) as process:
        assert says(process, "newer")
    assert database.read_bytes() == before


def test_a_home_that_nobody_has_is_told() -> None:
    with runahead("~nobody-of-that-name") as process:
        assert says(process, "RUNAHEAD_HOME is ~nobody-of-that-name, and nobody knows")
