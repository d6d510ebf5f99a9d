"""`runahead make-model` tells how the model routes, where that is meant to be like a real one."""

from pathlib import Path

import pytest

from engine.bench_models import network
from engine.cli.main import main


@pytest.fixture
def tiny_is_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "is_calibrated", lambda name: True)


def test_every_shape_that_imitates_a_real_model_is_calibrated() -> None:
    assert network.is_calibrated("qwen3-30b-a3b")
    assert network.is_calibrated("qwen3.6-35b-a3b-experts")
    assert not network.is_calibrated("tiny")


@pytest.mark.usefixtures("tiny_is_calibrated")
def test_the_measured_figures_stand_beside_the_papers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "m.gguf"
    assert main(["make-model", str(path), "--like", "tiny", "--layers", "2"]) == 0
    out = capsys.readouterr().out
    (measured,) = [line.split() for line in out.splitlines() if " measured " in line]
    (paper,) = [line.split() for line in out.splitlines() if " paper " in line]
    assert measured[1:3] == paper[1:3] == ["8", "30%"]
    assert all(0 <= float(figure.rstrip("%")) <= 100 for figure in measured[3:])
    assert len(measured) == 8
    assert paper[3:] == ["54%", "51", "to", "64%"]
    assert path.read_bytes()[:4] == b"GGUF"


@pytest.mark.usefixtures("tiny_is_calibrated")
def test_measuring_can_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--like", "tiny", "--layers", "1", "--no-calibration"]
    assert main(["make-model", str(tmp_path / "m.gguf"), *args]) == 0
    assert "paper" not in capsys.readouterr().out


def test_a_shape_that_imitates_no_model_is_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["make-model", str(tmp_path / "m.gguf"), "--like", "tiny"]) == 0
    assert "paper" not in capsys.readouterr().out
