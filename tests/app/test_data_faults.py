"""Killed at any moment, or with a full disk: nothing acknowledged is lost, nothing corrupted."""

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.conversations import Conversations
from app.data.writer import Write, Writer
from tests.helpers.data_child import DataChild

MOST_BYTES = 3 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MB, where the system lets us have one."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux may mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MOST_BYTES}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("this container may not mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def check_sound(path: Path) -> None:
    """Pages, foreign keys and the search index agree with each other."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.execute(
            "INSERT INTO message_search(message_search, rank) VALUES ('integrity-check', 1)"
        )


def stored_texts(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT id, text FROM message").fetchall())


def killed_rounds(path: Path, n_rounds: int, seed: int) -> None:
    rng = random.Random(seed)
    acknowledged: dict[str, str] = {}
    for _ in range(n_rounds):
        with DataChild(path) as child:
            child.wait_for_acknowledged(rng.choice([0, 1, 1, 30]))
            child.wait_for_more(rng.uniform(0, 0.3))
            child.kill()
            acknowledged |= child.acknowledged
        if path.exists() and path.stat().st_size:
            stored = stored_texts(path)
            assert {id_: stored.get(id_) for id_ in acknowledged} == acknowledged
    assert acknowledged
    conversations = Conversations(path)
    for chat in conversations.all():
        assert all(message.state != "streaming" for message in conversations.path(chat.id))
    conversations.close()
    check_sound(path)


def test_what_was_acknowledged_survives_a_kill_at_any_moment(qapp: object, tmp_path: Path) -> None:
    killed_rounds(tmp_path / "c.sqlite", n_rounds=8, seed=1)


@pytest.mark.slow
def test_what_was_acknowledged_survives_many_kills(qapp: object, tmp_path: Path) -> None:
    killed_rounds(tmp_path / "c.sqlite", n_rounds=60, seed=2)


def test_a_full_disk_is_told_and_what_waits_is_saved_once_there_is_space(
    small_disk: Path, qtbot: QtBot
) -> None:
    path = small_disk / "c.sqlite"
    conversations = Conversations(path)
    told: list[str] = []
    recovered: list[bool] = []
    reasons: dict[str, str | None] = {}
    conversations.failed.connect(told.append)
    conversations.recovered.connect(lambda: recovered.append(True))
    chat = conversations.create(title="chat")
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (MOST_BYTES * 6 // 10))

    added = []
    for number in range(30):
        text = f"{number} " + "wörter " * 10_000
        message = conversations.add_message(
            chat.id, "user", text, on_saved=lambda why, n=str(number): reasons.setdefault(n, why)
        )
        added.append(message)
        conversations.flush()
    failed = [number for number, why in reasons.items() if why is not None]
    assert len(reasons) == 30
    assert 0 < len(failed) < 30
    assert all("full" in str(reasons[number]) for number in failed)
    assert len(told) == 1
    assert "disk" in told[0]
    # What the user sees is complete, and what was acknowledged is on disk.
    assert len(conversations.path(chat.id)) == 30
    stored = stored_texts(path)
    assert {m.id for m in added if reasons[m.text.split()[0]] is None} <= stored.keys()

    ballast.write_bytes(b"")
    subprocess.run(
        ["mount", "-o", f"remount,size={32 << 20}", "tmpfs", str(small_disk)], check=True
    )
    with qtbot.waitSignal(conversations.recovered, timeout=5000):
        pass
    assert conversations.store.idle
    conversations.close()
    assert recovered == [True]
    check_sound(path)
    assert stored_texts(path) == {message.id: message.text for message in added}


def test_a_full_database_is_told_and_saved_later_without_a_small_disk(
    qapp: object, tmp_path: Path
) -> None:
    conversations = Conversations(tmp_path / "c.sqlite")
    chat = conversations.create()
    conversations.flush()
    [(n_pages,)] = conversations.store.rows("PRAGMA page_count")
    told: list[str] = []
    heard: list[str | None] = []
    saved: list[str] = []
    conversations.failed.connect(told.append)
    conversations.message_saved.connect(saved.append)
    writing = conversations.store.writer.connection
    writing.execute(f"PRAGMA max_page_count = {n_pages + 2}")
    message = conversations.add_message(chat.id, "user", "x" * 100_000, on_saved=heard.append)
    conversations.flush()
    conversations.flush()  # fails again, and is not told again
    assert len(told) == 1
    assert heard == told
    assert saved == []
    writing.execute("PRAGMA max_page_count = 1000000")
    conversations.flush()
    assert (heard, saved) == (told, [message.id])
    conversations.close()
    assert stored_texts(tmp_path / "c.sqlite") == {message.id: message.text}


def test_what_the_schema_refuses_takes_nothing_else_with_it(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "w.sqlite")) as connection:
        connection.execute("CREATE TABLE t (x NOT NULL)")
    connection = sqlite3.connect(
        tmp_path / "w.sqlite", isolation_level=None, check_same_thread=False
    )
    writer = Writer(connection, lambda: None)
    insert = "INSERT INTO t VALUES (?)"
    writer.put([Write(insert, (1,), token=1), Write(insert, (None,), token=2)], soon=True)
    writer.put([Write(insert, (object(),), token=3), Write(insert, (4,), token=4)])
    writer.flush()
    outcomes = {token: error for token, error in writer.take_outcomes() if token}
    writer.close()
    assert {token: error is None for token, error in outcomes.items()} == {
        **{1: True, 2: False, 3: False, 4: True}
    }
    with closing(sqlite3.connect(tmp_path / "w.sqlite")) as connection:
        assert connection.execute("SELECT x FROM t").fetchall() == [(1,), (4,)]


def test_without_memory_what_waits_is_told_and_saved_when_there_is_some(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_memory(writes: object) -> None:
        raise MemoryError

    conversations = Conversations(tmp_path / "c.sqlite")
    chat = conversations.create()
    conversations.flush()
    heard: list[str | None] = []
    with monkeypatch.context() as patch:
        patch.setattr(conversations.store.writer, "_write", without_memory)
        with qtbot.waitSignal(conversations.failed, timeout=5000) as failed:
            conversations.add_message(chat.id, "user", "Precious", on_saved=heard.append)
    assert "memory" in failed.args[0] and heard == failed.args
    with qtbot.waitSignal(conversations.recovered, timeout=5000):
        pass
    conversations.close()
    assert list(stored_texts(tmp_path / "c.sqlite").values()) == ["Precious"]


def test_a_fault_of_one_who_hears_that_a_message_is_saved_costs_nobody_else_theirs(
    qapp: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[object] = []
    monkeypatch.setattr(sys, "excepthook", lambda *what: reported.append(what[0]))
    conversations = Conversations(tmp_path / "c.sqlite")
    chat = conversations.create()
    heard: list[str | None] = []

    def faulty(why: str | None) -> None:
        raise KeyError(why)

    for on_saved in (faulty, heard.append):
        conversations.add_message(chat.id, "user", "?", on_saved=on_saved)
    conversations.close()
    assert (reported, heard) == ([KeyError], [None])


def test_signals_may_be_emitted_any_number_of_times() -> None:
    code = (
        "import app.data\nfrom PySide6.QtCore import QObject, Signal\n"
        "class A(QObject):\n    s = Signal()\n"
        "a = A()\nfor _ in range(100_000): a.s.emit()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
