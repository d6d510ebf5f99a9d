"""`inspect` says in one sentence whether a file runs, and if not why."""

import pytest

from engine.model_info import inspect_model
from tests.helpers.family_models import (
    Setting,
    Tensor,
    gated_ffn,
    head,
    usual_layer,
    usual_settings,
    vector,
    write_model,
)

N_EMBD = 64


def usual(n_layer: int = 1) -> list[Tensor]:
    """A small model as family llama, with four experts."""
    tensors = head(N_EMBD)
    for il in range(n_layer):
        tensors += usual_layer(il, N_EMBD, 2, 1, 4, 32)
    return tensors


SETTINGS = usual_settings(1, N_EMBD, 2, 1, 4, 2) | {"feed_forward_length": 32}


def reason(family: str, settings: dict[str, Setting], tensors: list[Tensor]) -> str:
    info = inspect_model(write_model(family, settings, tensors))
    assert info.supported == (not info.reason)
    return info.reason


def test_a_file_that_runs_has_no_reason() -> None:
    assert reason("llama", SETTINGS, usual()) == ""


@pytest.mark.parametrize("family", ["llama", "gemma4", "mistral3"])
def test_a_dense_model_is_called_dense(family: str) -> None:
    dense = {key: value for key, value in SETTINGS.items() if not key.startswith("expert")}
    tensors = [t for t in usual() if "exps" not in t.name] + gated_ffn(0, N_EMBD, 32)
    assert f"'{family}' is not a mixture of experts" in reason(family, dense, tensors)


def test_a_family_that_is_not_known_is_named_with_those_that_are() -> None:
    text = reason("dbrx", SETTINGS, usual())
    assert "the family 'dbrx' is not supported; supported: " in text
    for family in ("gemma4", "gpt-oss", "qwen35moe", "deepseek2"):
        assert family in text


def test_a_vision_only_file_is_called_so() -> None:
    assert "the vision or audio part of a model" in reason("clip", SETTINGS, usual())


def test_a_tensor_that_would_be_ignored_is_a_reason() -> None:
    tensors = [*usual(), vector("blk.0.attn_q_norm.weight", 32)]
    text = reason("llama", SETTINGS, tensors)
    assert "'blk.0.attn_q_norm.weight' is not known to the family 'llama'" in text


def test_a_missing_tensor_is_named() -> None:
    tensors = [t for t in usual() if t.name != "blk.0.attn_v.weight"]
    assert "'blk.0.attn_v.weight' is missing" in reason("llama", SETTINGS, tensors)


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("rope.scaling.type", "longrope", "'longrope' is not supported"),
        ("expert_group_count", 3, "does not divide the experts"),
    ],
)
def test_an_option_that_is_not_supported_is_named(key: str, value: Setting, what: str) -> None:
    text = reason("llama", SETTINGS | {key: value}, usual())
    assert f"llama.{key}" in text
    assert what in text
