"""qwen35moe and qwen3next: Qwen3.5 and Qwen3.6 MoE, Qwen3-Next."""

import pytest

from engine._native import inspect
from tests.helpers.delta_net_models import delta_net_model
from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity

MODELS = [
    ("qwen35moe", ""),
    ("qwen35moe", "fused"),
    ("qwen3next", ""),
    ("qwen3next", "fused"),
    ("qwen3next", "legacy"),
]


@pytest.mark.parametrize(("family", "variant"), MODELS)
def test_f32_matches_llama_cpp(family: str, variant: str) -> None:
    check_parity(delta_net_model(family, "f32", variant), F32_LIMIT)


@pytest.mark.parametrize("family", ["qwen35moe", "qwen3next"])
@pytest.mark.parametrize("type", ["q4_0", "q8_0"])
def test_quantised_matches_llama_cpp(family: str, type: str) -> None:
    check_parity(delta_net_model(family, type), QUANTISED_LIMIT)


def test_types_that_differ_by_layer_match_llama_cpp() -> None:
    path = delta_net_model("qwen35moe", "q4_k_m")
    assert len(inspect(str(path))["expert_bytes"]) == 2
    check_parity(path, QUANTISED_LIMIT, close_calls=0.1)


@pytest.mark.parametrize(
    ("family", "type"), [("qwen35moe", "q4_0"), ("qwen35moe", "q4_k_m"), ("qwen3next", "q4_0")]
)
def test_nothing_beside_a_request_changes_its_bits(family: str, type: str) -> None:
    check_identity(delta_net_model(family, type))
