"""What a model's file recommends is what its replies are sampled with, unless something else is."""

from pathlib import Path

import pytest

from engine.bench_models.gguf_writer import Metadata, f32, i32, string
from engine.bench_models.tokenizer import byte_tokenizer
from engine.cli.main import main
from engine.engine import Engine
from engine.engine_state import ModelSummary
from engine.model_info import inspect_model
from engine.recommended_sampling import RecommendedSampling, recommended_sampling
from engine.request import Request, RequestId
from engine.sampling import SamplingParams
from tests.helpers.family_models import (
    head,
    usual_layer,
    usual_settings,
    write_model,
)

N_EMBD = 64
QWEN3 = {
    "general.sampling.temp": f32(0.6),
    "general.sampling.top_k": i32(20),
    "general.sampling.top_p": f32(0.95),
}


def model(recommended: Metadata) -> Path:
    tensors = head(N_EMBD) + usual_layer(0, N_EMBD, 2, 1, 4, 32)
    settings = usual_settings(1, N_EMBD, 2, 1, 4, 2) | {"feed_forward_length": 32}
    return write_model("llama", settings, tensors, vocabulary=byte_tokenizer() | recommended)


def sampled_with(
    monkeypatch: pytest.MonkeyPatch, home: Path, path: Path, *args: object
) -> SamplingParams:
    """The params of `runahead generate`."""
    seen: list[SamplingParams] = []
    submit = Engine.submit

    def spy(engine: Engine, request: Request) -> RequestId:
        seen.append(request.params)
        return submit(engine, request)

    monkeypatch.setattr(Engine, "submit", spy)
    options = ("--store", "gguf", "--cache", "all", "--no-log", "--max-tokens", "2")
    assert main(["generate", str(path), "-p", "a", *options, *map(str, args)]) == 0
    return seen[0]


def test_a_file_says_what_it_recommends() -> None:
    found = inspect_model(model(QWEN3)).sampling
    assert found == RecommendedSampling(
        temperature=pytest.approx(0.6), top_k=20, top_p=pytest.approx(0.95)
    )
    assert ModelSummary.of(inspect_model(model(QWEN3))).sampling == found


def test_a_file_that_recommends_nothing_changes_nothing() -> None:
    found = inspect_model(model({})).sampling
    assert found == RecommendedSampling()
    assert found.applied(SamplingParams(top_k=7)) == SamplingParams(top_k=7)


def test_what_is_recommended_is_put_in_place_and_the_rest_stays() -> None:
    params = RecommendedSampling(top_k=0, min_p=0.0).applied(SamplingParams(seed=3))
    assert params == SamplingParams(seed=3, top_k=0, min_p=0)


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("temp", "0.7", {"temperature": 0.7}),
        ("temp", "-1", {}),
        ("temp", "nan", {}),
        ("temp", "hot", {}),
        ("temp", "[3 f32s]", {}),
        ("top_k", "-1", {"top_k": 0}),
        ("top_k", "12.7", {"top_k": 12}),  # as C's strtol reads it
        ("top_k", "nan", {}),
        ("top_k", "2147483648", {}),
        ("top_k", "1e300", {}),
        ("top_k", "inf", {}),
        ("top_p", "1.5", {}),
        ("min_p", "0.05", {"min_p": 0.05}),
        ("penalty_repeat", "1.05", {"repeat_penalty": 1.05}),
        ("penalty_repeat", "0", {}),
        ("mirostat", "2", {}),
    ],
)
def test_what_cannot_be_used_is_left_out(key: str, text: str, expected: dict[str, float]) -> None:
    assert recommended_sampling([(f"general.sampling.{key}", text)]).values == expected


def test_a_recommendation_of_another_type_does_no_harm() -> None:
    odd = {"general.sampling.temp": string("x" * 5000), "general.sampling.top_k": f32(12.0)}
    assert inspect_model(model(odd)).sampling == RecommendedSampling(top_k=12)


def test_generate_follows_the_file_and_the_command_line_before_it(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    found = sampled_with(monkeypatch, home, model(QWEN3), "--top-k", 3)
    assert found.temperature == pytest.approx(0.6)
    assert (found.top_k, found.min_p) == (3, SamplingParams().min_p)


def test_generate_without_a_recommendation_has_its_defaults(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    found = sampled_with(monkeypatch, home, model({}))
    assert found == SamplingParams(max_tokens=2)


def test_inspect_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(model(QWEN3))]) == 0
    assert "temperature 0.6, top_k 20, top_p 0.95" in capsys.readouterr().out
    assert main(["inspect", str(model({}))]) == 0
    assert "nothing" in capsys.readouterr().out
