"""qwen35moe and qwen3next: Qwen3.5 and Qwen3.6 MoE, Qwen3-Next."""

import pytest

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


@pytest.mark.parametrize("family", ["qwen35moe", "qwen3next"])
def test_nothing_beside_a_request_changes_its_bits(family: str) -> None:
    check_identity(delta_net_model(family, "q4_0"))
