"""`runahead rival`: llama.cpp's fastest configuration, rounds, ratios, and one small real run."""

import json
from pathlib import Path

import pytest

from engine.cli import rival as command
from engine.cli.main import main
from engine.errors import InvalidRequestError
from engine.rival.cgroup_home import NoLimitError, homes
from engine.rival.compare import RivalPlan
from engine.rival.fastest_config import MOST_TRIES, START, fastest
from engine.rival.jobs import LlamaConfig
from engine.rival.memory_limit import choose_home
from engine.rival.report import OURS, THEIRS, RivalRun, ratios_of
from tests.helpers.models import tiny_model

MB = 1 << 20


def run(side: str, round_: int, speed: float, requests: int = 2) -> RivalRun:
    return RivalRun(
        side=side,
        requests=requests,
        cache_fraction=0.3,
        round=round_,
        tokens_per_s=speed,
        step_ms=1,
        steps=1,
        read_bytes=0,
        major_faults=0,
        own_bytes=1,
        peak_bytes=1,
    )


def test_the_fastest_configuration_is_found_change_by_change() -> None:
    tried: list[LlamaConfig] = []

    def speed(config: LlamaConfig) -> float:
        tried.append(config)
        return (
            1
            + 2 * (config.weights == "repack-shared")
            + (config.advice == "hugepage")
            - (config.kv == "separate")
        )

    best = fastest(speed, fits=False)
    assert best == LlamaConfig(weights="repack-shared", advice="hugepage")
    assert tried[0] == START
    assert len(tried) == len(set(tried)) <= MOST_TRIES


def test_weights_are_put_in_memory_whole_only_where_they_fit() -> None:
    tried: list[LlamaConfig] = []
    for fits in (False, True):
        tried.clear()
        fastest(lambda config: tried.append(config) or 1.0, fits=fits)  # type: ignore[func-returns-value]
        whole = [c for c in tried if c.load == "none" or c.weights == "repack"]
        assert bool(whole) == fits
        assert len(tried) <= MOST_TRIES


def test_read_aheads_are_tried_on_what_was_fastest() -> None:
    def speed(config: LlamaConfig) -> float:
        return 2 + (config.kv == "separate") - abs(config.read_ahead_kb - 256) / 256

    best = fastest(speed, fits=False, read_aheads=(128, 256))
    assert best == LlamaConfig(kv="separate", read_ahead_kb=256)
    assert fastest(lambda c: -abs(c.read_ahead_kb - 8), fits=False, read_aheads=(99,)) == START


def test_a_configuration_that_fails_is_left_out() -> None:
    only = LlamaConfig(kv="separate")
    assert fastest(lambda config: 1.0 if config == only else None, fits=False) == only
    assert fastest(lambda config: None, fits=True) is None


def test_no_configuration_takes_the_buffer_type_that_crashes() -> None:
    tried: list[LlamaConfig] = []
    fastest(lambda config: tried.append(config) or 1.0, fits=True)  # type: ignore[func-returns-value]
    assert "extra" not in {config.weights for config in tried}


def test_ratios_are_medians_of_whole_rounds() -> None:
    runs = [run(OURS, n, speed) for n, speed in enumerate((10, 20, 90, 50))]
    runs += [run(THEIRS, n, speed) for n, speed in enumerate((5, 20, 30))]
    runs += [run(OURS, 0, 1, requests=8)]
    (ratio,) = ratios_of(runs)
    assert (ratio.requests, ratio.min, ratio.median, ratio.max) == (2, 1, 2, 3)


@pytest.mark.parametrize(("field", "value"), [("steps", 0), ("rounds", 0), ("warm_up", -1)])
def test_a_plan_that_measures_nothing_is_refused(field: str, value: int) -> None:
    with pytest.raises(InvalidRequestError, match=field):
        RivalPlan(**{field: value})  # type: ignore[arg-type]


def test_without_cgroups_the_command_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mountinfo").write_text("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
    (tmp_path / "cgroup").write_text("0::/\n")
    monkeypatch.setattr(command, "homes", lambda: homes(tmp_path))
    assert main(["rival", str(tiny_model())]) == 1
    error = capsys.readouterr().err
    assert "No memory controller" in error
    assert "systemd-run --user --scope" in error


@pytest.mark.parametrize("budget", ["0", "lots", "-3GB"])
def test_a_budget_that_is_no_size_is_a_usage_error(
    budget: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["rival", "m.gguf", f"--budget={budget}"])
    assert exit_.value.code == 2
    assert "is no size" in capsys.readouterr().err


@pytest.fixture
def cgroups() -> None:
    try:
        choose_home(homes())
    except NoLimitError as error:
        pytest.skip(f"needs cgroups that this user may make: {error}")


@pytest.mark.slow
def test_both_sides_run_a_model_larger_than_the_budget(cgroups: None, tmp_path: Path) -> None:
    model = tiny_model("q4_0", n_layer=6, n_expert=32, n_embd=768, n_ff_exp=768)
    out = tmp_path / "rival.json"
    arguments = "--requests 2 --cache 25% --warm-up 2 --steps 8 --rounds 2 --threads 1"
    code = main(["rival", str(model), *arguments.split(), "--json", str(out)])
    assert code == 0
    report = json.loads(out.read_text())
    assert report["streams_agree"] is True
    assert report["device"] == "CPU"

    (case,) = report["cases"]
    assert case["used_bytes"] > case["resident_bytes"] + case["cache_bytes"]
    assert case["used_bytes"] < case["budget_bytes"] < report["model_bytes"]
    assert case["llama_config"] in {trial["config"] for trial in report["trials"]}

    runs = report["runs"]
    assert [(r["round"], r["side"]) for r in runs] == [
        *((0, THEIRS), (0, OURS), (1, OURS), (1, THEIRS))
    ]
    assert all(r["steps"] == 8 and r["tokens_per_s"] > 0 for r in runs)
    assert all(0 < r["peak_bytes"] <= case["budget_bytes"] for r in runs)
    theirs = [r for r in runs if r["side"] == THEIRS]
    # It pages: each step waits for what the limit did not leave it, and the limit is full.
    assert all(r["major_faults"] > 1 and r["read_bytes"] > MB for r in theirs)
    assert all(r["own_bytes"] < 0.8 * case["budget_bytes"] for r in theirs)
    assert all(r["peak_bytes"] > 0.95 * case["budget_bytes"] for r in theirs)
    ours = [r for r in runs if r["side"] == OURS]
    assert all(r["major_faults"] < 1 and r["read_bytes"] > MB for r in ours)

    (ratio,) = report["ratios"]
    assert 0 < ratio["min"] <= ratio["median"] <= ratio["max"]
    assert not list(choose_home(homes()).folder.glob("runahead-rival-*"))
