"""`runahead`: the window without arguments, the command line with some."""

import subprocess
import sys
from pathlib import Path

import pytest

from app import main as entry


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What main() would run."""
    asked: list[object] = []
    monkeypatch.setattr(entry, "_command_line", lambda arguments: asked.append(arguments) or 0)
    return asked


def test_arguments_are_the_command_line(asked: list[object]) -> None:
    assert entry.main(["inspect", "a.gguf"]) == 0
    assert asked == [["inspect", "a.gguf"]]


def test_without_a_display_it_says_so_and_runs_the_demo(
    asked: list[object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert entry.main([]) == 0
    assert asked == [["demo"]]
    assert "no display" in capsys.readouterr().err


def test_without_a_display_model_files_are_not_answered_by_the_demo(
    asked: list[object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert entry.main(["my model.gguf"]) == 1
    assert asked == []
    assert "runahead generate 'my model.gguf'" in capsys.readouterr().err


def test_model_files_open_in_the_window(
    asked: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setattr("app.start.open_window", lambda files: opened.append(files) or 0)
    assert entry.main(["a.gguf", "b.GGUF"]) == 0
    assert opened == [[Path("a.gguf"), Path("b.GGUF")]]
    assert asked == []


def test_the_command_line_does_not_wait_for_qt() -> None:
    code = (
        "import sys; from app.main import main; import contextlib\n"
        "with contextlib.suppress(SystemExit): main(['--version'])\n"
        "assert not [name for name in sys.modules if name.startswith('PySide6')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)
