"""lfm2moe: LFM2-8B-A1B, LFM2-24B-A2B."""

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_identity, check_parity
from tests.helpers.short_convolution_models import short_convolution_model


def test_f32_matches_llama_cpp() -> None:
    check_parity(short_convolution_model("f32"), F32_LIMIT)


@pytest.mark.parametrize("type", ["q4_0", "q8_0"])
def test_quantised_matches_llama_cpp(type: str) -> None:
    check_parity(short_convolution_model(type), QUANTISED_LIMIT)


def test_nothing_beside_a_request_changes_its_bits() -> None:
    check_identity(short_convolution_model("q4_0"))
