"""Nothing that a file brings along steers the terminal, wherever the command line shows it."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.cli import bench_routing
from engine.cli.main import main
from tests.helpers import fake_native

pytestmark = pytest.mark.usefixtures("fake")

NAME = "[/x]A\x1b]0;owned\x07\x1b[2J\x9b2J"


def shown(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str]:
    """The exit code, and all that was shown: without what steers, but with the name."""
    code = main([str(arg) for arg in args])
    text = "".join(capsys.readouterr())
    assert not {"\x1b", "\x07", "\x9b"} & set(text)
    assert "]0;owned" in text
    return code, text


@pytest.mark.parametrize("command", ["generate -p x", "pack", "pack --debug"])
def test_an_error_shows_a_name_without_what_steers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = fake_native.write_model(tmp_path / "m", name=NAME, supported=False, reason="no experts")
    code, text = shown(capsys, *command.split(), path)
    assert code == 1 and "no experts" in text
    assert ("Traceback" in text) == ("--debug" in command)


def test_a_checked_pack_is_shown_with_a_name_that_does_not_steer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = fake_native.write_model(tmp_path / "m", name=NAME)
    assert main(["pack", str(path)]) == 0
    capsys.readouterr()
    code, text = shown(capsys, "pack", path, "--verify")
    assert code == 0 and "whole, and of" in text


@pytest.mark.parametrize("command", ["inspect", "generate -p x --max-tokens 2"])
def test_json_escapes_what_steers_and_reads_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = fake_native.write_model(tmp_path / "m", name=NAME)
    code = main([*command.split(), str(path), "--json"])
    out, _ = capsys.readouterr()
    assert code == 0 and "\x9b" not in out and "\x1b" not in out
    assert NAME in json.loads(out).values()


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_a_reply_that_the_terminals_encoding_cannot_write_is_shown_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    path = fake_native.write_model(tmp_path / "m.gguf", name="\xe9", reply="\xe9 \u732b \U0001f600")
    shown = []
    for args in (["generate", "-p", "x"], ["generate", "-p", "x", "--json"], ["inspect"]):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
        assert main([args[0], str(path), *args[1:]]) == 0
        sys.stdout.flush()
        shown.append(written.getvalue().decode(encoding))
    assert shown[0] in (
        "\xe9 \u732b \U0001f600\n",
        "\xe9 \\u732b \\U0001f600\n",
        "\\xe9 \\u732b \\U0001f600\n",
    )
    assert json.loads(shown[1])["replies"][0]["text"] == "\xe9 \u732b \U0001f600"


def test_a_piped_prompt_in_another_encoding_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fake_native.write_model(tmp_path / "m.gguf")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9 au lait"), "utf-8"))
    assert main(["generate", str(path)]) == 1
    assert "The prompt is not UTF-8, at byte 3. Convert it first" in capsys.readouterr().err


def test_a_title_is_no_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def routing(*args: object, **kwargs: object) -> NDArray[np.int64]:
        return np.arange(8 * 2 * 3 * 2).reshape(8, 2, 3, 2) % 7

    monkeypatch.setattr(bench_routing, "record_routing", routing)
    path = fake_native.write_model(tmp_path / "m", name=NAME)
    code, text = shown(capsys, "bench", path, "--routing", "--requests", 2, "--steps", 8)
    assert code == 0 and "How [/x]A" in text
