"""`runahead simulate` shows simulated figures and says so."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.cli.main import main
from engine.simulation.machine import MachineModel
from engine.simulation.simulate import simulate
from tests.helpers.made_up_routing import made_up_trace

TRACE = made_up_trace(n_request=4, n_lookahead=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    out = tmp_path / "trace.npz"
    TRACE.save(out)
    return out


def test_policies_are_compared_in_every_case(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--machine", "m6", "--policies", "bevy,lockstep///belady/none", "--requests", "2,4"]
    assert main(["simulate", str(path), *args, "--cache", "30%,60%"]) == 0
    out = capsys.readouterr().out
    assert "simulated, not measured" in out
    for case in ("2 requests, cache 30%", "4 requests, cache 60%"):
        assert f"{case} (simulated)" in out
    assert out.count("lockstep///belady/none") == 4
    assert "bevy is" in out


def test_the_file_has_the_figures_that_simulate_gives(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    args = [
        "--machine",
        "m6",
        "--policies",
        "bevy,bevy+prefetch",
        "--json",
        str(out),
        "--link",
        "1GB/s",
    ]
    assert main(["simulate", str(path), *args]) == 0
    report: dict[str, Any] = msgspec.json.decode(out.read_bytes())
    assert report["simulated"] is True
    assert report["machine"]["link_bytes_per_s"] == 1e9
    assert report["steps"] == 12
    machine = MachineModel.load("m6").with_link(1e9)
    for case, policy in zip(report["cases"], ("bevy", "bevy+prefetch"), strict=True):
        run = simulate(TRACE, machine=machine, policy=policy, cache_fraction=0.3)
        assert case["policy"] == policy
        assert case["requests"] == 4
        assert case["step_ms"] == run.mean("step_ms")
        assert case["tokens_per_s"] == run.tokens_per_s()
        assert case["prefetched"] == run.mean("prefetched")
        assert case["hit_rate"] == run.hit_rate()


def test_a_machine_fitted_to_another_model_is_told(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(path), "--machine", "m6"]) == 0
    assert "whose experts are 3.3 times as large" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    ("args", "match"),
    [
        (["--machine", "m7"], "no machine m7"),
        (["--machine", "missing.json"], "no file missing.json"),
        (["--machine", "no/where"], "no file no/where"),
        (["--machine", "m6", "--policies", "bevy,best"], 'unknown policy "best"'),
        (["--machine", "m6", "--requests", "5"], "has 4 requests, not 5"),
        (["--machine", "m6", "--cache", "10%"], "need 12 slots"),
        (["--machine", "m6", "--json", "/no/where.json"], "folder does not exist"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_a_sentence(
    path: Path, args: list[str], match: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(path), *args]) == 1
    assert match in capsys.readouterr().err


def test_a_damaged_trace_is_said_in_a_sentence(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_bytes(path.read_bytes()[:-30])
    assert main(["simulate", str(path), "--machine", "m6"]) == 1
    assert "no routing trace" in capsys.readouterr().err
