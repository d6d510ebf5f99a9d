"""What a cache has room for is known at the start, and is what the engine then does."""

import math
import types
from pathlib import Path

import msgspec
import numpy as np
import pytest

from engine import errors, trace
from engine.bench_decode import decode
from engine.cache_size import CacheSize
from engine.cli.main import main
from engine.engine import Engine
from engine.model_info import ModelInfo, inspect_model
from engine.options import EngineOptions
from engine.room import check_room, least_share, share_for
from engine.workloads import prompts
from tests.helpers.models import tiny_model


def uses_waves(model: ModelInfo, n_requests: int, share: float) -> bool:
    options = EngineOptions(
        store="memory",
        run_log=False,
        n_threads=1,
        context=64,
        cache=CacheSize(fraction=share),
    )
    with Engine.open(model, options) as engine:
        asked = prompts("short", n_requests, 8, engine.tokenize)
        came: list[trace.Records] = []
        decode(engine, asked, 6, 0, lambda _: None, traced=came.append)
    records = np.concatenate(came)
    steps = trace.of(records, trace.Event.STEP)
    full = steps["step"][steps["a"] == n_requests]
    assert len(full)
    return bool(set(full) & set(trace.of(records, trace.Event.WAVE)["step"]))


@pytest.mark.parametrize("n_requests", [2, 3])
def test_the_least_share_runs_ahead_and_one_expert_less_runs_in_waves(n_requests: int) -> None:
    model = inspect_model(tiny_model("q4_0"))
    share = share_for(model, n_requests)
    assert not uses_waves(model, n_requests, share)
    assert uses_waves(model, n_requests, share - 1 / sum(model.experts_per_class))


def test_a_model_names_how_many_experts_can_take_each_others_slots() -> None:
    model = inspect_model(tiny_model("q4_0"))
    assert model.experts_per_class == [model.n_moe_layer * model.n_expert]


def test_the_class_with_the_fewest_experts_asks_for_the_largest_share() -> None:
    assert least_share(4, 2, [100, 16]) == 0.5
    assert least_share(10, 2, [100, 16]) == 1.0  # all of a class is always enough


def test_the_error_names_a_size_that_would_do_and_how_many_requests_would() -> None:
    model = inspect_model(tiny_model("q4_0"))
    tight = CacheSize(fraction=0.01)
    with pytest.raises(errors.InvalidRequestError) as caught:
        check_room(model, [(1, tight), (2, CacheSize()), (3, tight)])
    percent = math.ceil(100 * share_for(model, 3))
    assert "A cache of 1% is too small for 3 requests" in caught.value.message
    assert f"--cache {percent}% or more, or at most 1 for" in caught.value.hint
    check_room(model, [(3, CacheSize.parse(f"{percent}%")), (1, tight)])


def test_a_model_remembered_without_classes_counts_all_experts_as_equal() -> None:
    model = inspect_model(tiny_model("q4_0"))
    forgotten = msgspec.structs.replace(model, experts_per_class=[])
    assert share_for(forgotten, 3) == share_for(model, 3)


@pytest.mark.parametrize(
    "command",
    [
        ("bench", "MODEL", "--requests", "2,8", "--cache", "2%,90%"),
        ("bench", "MODEL", "--requests", "2,8", "--cache", "2%", "--routing"),
        ("record", "MODEL", "-o", "OUT", "--cache", "2%"),
        ("calibrate", "MODEL", "-o", "OUT", "--cache", "2%", "--policies", "bevy"),
        ("rival", "MODEL", "--cache", "2%"),
    ],
)
def test_commands_that_measure_say_so_before_a_model_is_packed_or_opened(
    fake: types.ModuleType,
    model: Path,
    tmp_path: Path,
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a model was opened")

    monkeypatch.setattr("engine.cli.measuring.Engine.open", never)
    monkeypatch.setattr("engine.cli.rival.choose_store", never)
    monkeypatch.setattr("engine.cli.rival.choose_home", lambda _: None)
    names = {"MODEL": str(model), "OUT": str(tmp_path / "out")}
    assert main([names.get(word, word) for word in command]) == 1
    said = capsys.readouterr().err
    assert "A cache of 2% is too small for 8 requests to run ahead of each other" in said
    assert "Choose --cache 34% or more, or at most 1 for --requests." in said
