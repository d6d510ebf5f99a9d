"""Engine or app killed at a bad moment, a full disk, a database from the future."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app import folders
from tests.e2e.app_child import AppChild
from tests.e2e.real_app import RealApp, is_alive, wait_until

StartApp = Callable[[], RealApp]
ROOT = Path(__file__).resolve().parents[2]


def test_a_killed_engine_leaves_the_window_the_text_and_a_way_back(
    start_app: StartApp, model: Path
) -> None:
    app = start_app()
    app.settings.set("link", "40MB/s")
    app.use_preset(max_tokens=2000)
    app.add_and_load(model)
    views = [app.ask_in_new_tab(question) for question in ("One?", "Two?")]
    wait_until(lambda: all(reply.n_tokens > 10 for reply in app.service.replies), "both stream")
    texts = [view.chat.reply.text for view in views if view.chat.reply]
    killed = app.engine_pid
    os.kill(killed, signal.SIGKILL)

    wait_until(lambda: app.service.state.phase == "failed", "the death is noticed", 10)
    assert app.service.state.crashed
    assert app.window.isVisible()
    banner = app.window.banners.failure
    assert banner.isVisible()
    assert banner.title.text() and banner.text.text()
    assert banner.button.text() == "Restart"
    for view, text in zip(views, texts, strict=True):
        wait_until(lambda: not view.chat.is_streaming, "the reply has ended")  # noqa: B023
        message = view.chat.messages[-1]
        assert message.state == "failed"
        assert message.result and message.result.reason == "error" and message.result.detail
        assert text and message.text.startswith(text)

    banner.button.click()
    app.wait_ready()
    assert app.engine_pid != killed
    assert not banner.isVisible()
    app.use_preset(max_tokens=12)
    app.ask(views[0], "Where were we?")
    wait_until(lambda: not app.service.replies, "the chat goes on")
    assert views[0].chat.messages[-1].state == "done"
    kept = views[1].chat.messages[-1]
    app.close()

    app = start_app()
    again = app.messages(views[1].chat.id)[-1]
    assert (again.text, again.state) == (kept.text, "failed")


def test_a_killed_app_loses_nothing_acknowledged_and_leaves_no_engine(
    start_app: StartApp, model: Path, home: Path
) -> None:
    with AppChild(model) as child:
        child.wait_for("streams", 3)
        child.wait_for("saved", 9)
        engine = int(child.said("engine")[0])
        assert is_alive(engine)
        child.kill()
    wait_until(lambda: not is_alive(engine), "the orphan ends", 10)

    app = start_app()
    stored = {
        message.id: message
        for conversation in app.conversations.all()
        for message in app.messages(conversation.id)
    }
    asked = [json.loads(line) for line in child.said("asked")]
    assert len(asked) == 3
    for message_id, text in asked:
        assert stored[message_id].text == text
    shown: dict[str, str] = {}
    for line in child.said("text"):
        message_id, text = json.loads(line)
        shown[message_id] = text
    replies = [message for message in stored.values() if message.role == "assistant"]
    assert len(replies) == 3
    assert {message.state for message in replies} == {"stopped"}
    for message in (stored[message_id] for message_id in shown):
        shorter, longer = sorted((message.text, shown[message.id]), key=len)
        assert longer.startswith(shorter)
    saved = [json.loads(line) for line in child.said("saved")]
    assert any(text for _, text in saved)
    for message_id, text in saved:
        assert stored[message_id].text.startswith(text)
    app.add_and_load(model)
    app.use_preset(max_tokens=10)
    app.window.show_page("chats")
    app.ask(app.view(app.chats.tabs.ids[0]), "Still there?")
    wait_until(lambda: not app.service.replies, "the chat goes on")


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder on a disk of 12 MB, where the system lets us have one."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux may mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("this container may not mount")
    monkeypatch.setenv("RUNAHEAD_HOME", str(folder))
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Leave no byte free."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path


def test_a_full_disk_is_told_and_what_was_written_stays(
    small_disk: Path, start_app: StartApp, model: Path
) -> None:
    app = start_app()
    app.settings.set("store", "gguf")
    app.settings.set("run_log", False)
    app.settings.set("context", 4096)
    app.use_preset(max_tokens=20)
    app.add_and_load(model)
    view = app.ask_in_new_tab("Is there room?")
    wait_until(lambda: not app.service.replies, "the first reply has ended")
    app.conversations.flush()
    app.settings.flush()
    before = [message.text for message in view.chat.messages]
    filler = fill(small_disk)

    question = "And now? " + "words " * 500
    view.composer.set_text(question)
    view.composer.button.click()
    wait_until(view.banner.isVisible, "a full disk is told", 30)
    assert view.composer.text == question, "what was written stays in the field"
    assert not app.service.replies, "what is not saved is not sent"
    assert [message.text for message in view.chat.messages] == before

    recovered: list[bool] = []
    app.conversations.recovered.connect(lambda: recovered.append(True))
    filler.unlink()
    wait_until(lambda: recovered, "what waits is saved once there is room", 30)
    view.composer.button.click()
    wait_until(lambda: len(view.chat.messages) == 4, "it is sent")
    wait_until(lambda: not app.service.replies, "it is answered")
    assert view.chat.messages[-1].state == "done"
    texts = [message.text for message in view.chat.messages]
    assert texts[2].strip() == question.strip()
    app.close()
    with closing(sqlite3.connect(folders.database())) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    app = start_app()
    assert [message.text for message in app.messages(view.chat.id)] == texts


def test_a_database_from_a_newer_version_is_refused_and_untouched(home: Path) -> None:
    with closing(sqlite3.connect(folders.database())) as connection:
        connection.execute("CREATE TABLE future (x)")
        connection.execute("PRAGMA user_version = 900")
        connection.commit()
    before = folders.database().read_bytes()
    ended = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "e2e" / "start_without_person.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
    )
    assert ended.returncode == 1, ended.stderr
    assert "newer" in ended.stdout
    assert str(folders.database()) in ended.stdout
    assert "Traceback" not in ended.stderr
    assert folders.database().read_bytes() == before
    names = {path.name for path in home.iterdir()}
    assert not {name for name in names if name.startswith(folders.database().name + "-")}
