"""One window per data folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.doorbell import Doorbell, ring
from app.single_instance import SingleInstance


def test_a_second_window_is_told_who_has_the_folder(tmp_path: Path) -> None:
    first, second = SingleInstance(tmp_path), SingleInstance(tmp_path)
    assert first.take() == ""
    why = second.take()
    assert "already open" in why
    assert str(os.getpid()) in why
    first.release()
    assert second.take() == ""
    second.release()


def test_a_window_that_died_on_another_computer_is_named_with_the_way_out(tmp_path: Path) -> None:
    first, second = SingleInstance(tmp_path), SingleInstance(tmp_path)
    assert first.take() == ""
    lock = tmp_path / "window.lock"
    process, app, _, machine, *rest = lock.read_text().split("\n")
    lines = [process, app, "laptop", machine[::-1], *rest]
    first.release()
    lock.write_text("\n".join(lines))
    why = second.take()
    assert "on the computer laptop" in why
    assert f"delete {lock}" in why
    lock.write_text("")  # as after a power cut
    assert f"delete {lock}" in second.take()
    lock.unlink()
    assert second.take() == ""
    second.release()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert str(tmp_path) in SingleInstance(tmp_path / "data").take()
    finally:
        tmp_path.chmod(0o700)


def test_a_file_in_the_folders_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert str(tmp_path / "data") in SingleInstance(tmp_path / "data").take()


def test_a_second_start_reaches_the_open_window_with_its_files(
    qtbot: QtBot, tmp_path: Path
) -> None:
    bell = Doorbell(tmp_path)
    assert bell.listen()
    heard: list[list[Path]] = []
    bell.rung.connect(heard.append)
    names = ["a b.gguf", "new\nline 模型.gguf"]
    code = (
        "import sys; from pathlib import Path; from app.doorbell import ring;"
        "sys.exit(not ring(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]))"
    )
    second = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), *names], cwd=Path.cwd())
    qtbot.waitUntil(lambda: second.poll() is not None, timeout=20_000)
    assert second.returncode == 0
    assert heard == [[Path(name).absolute() for name in names]]
    bell.close()
    assert not ring(tmp_path)


def test_a_bell_that_a_crash_has_left_does_not_keep_the_next_one_silent(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from PySide6.QtCore import QCoreApplication;"
        "from app.doorbell import Doorbell; app = QCoreApplication([]);"
        "assert Doorbell(Path(sys.argv[1])).listen(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    bell = Doorbell(tmp_path)
    assert bell.listen()
    bell.close()
