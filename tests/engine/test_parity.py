"""The engine computes what llama.cpp computes, on every weight type."""

import pytest

from tests.helpers.family_checks import F32_LIMIT, QUANTISED_LIMIT, check_first_choices, errors
from tests.helpers.llama_reference import reference_logits
from tests.helpers.models import FILE_TYPES, tiny_model
from tests.helpers.native_runs import logits_of, open_engine, text_tokens

LIMIT = {type: F32_LIMIT if type == "f32" else QUANTISED_LIMIT for type in FILE_TYPES}


@pytest.mark.parametrize("store", ["pack", "gguf"])
@pytest.mark.parametrize("type", FILE_TYPES)
def test_logits_of_a_prefill_match_llama_cpp(type: str, store: str) -> None:
    model = tiny_model(type)
    tokens = text_tokens(96, seed=3)
    reference = reference_logits(model, tokens)
    engine = open_engine(model, store=store)
    ours = logits_of(engine, tokens)
    engine.close()
    assert errors(ours, reference).max() <= LIMIT[type]
    check_first_choices(ours, reference)


@pytest.mark.parametrize("type", FILE_TYPES)
def test_logits_of_decode_match_llama_cpp(type: str) -> None:
    model = tiny_model(type)
    tokens = text_tokens(96, seed=3)
    reference = reference_logits(model, tokens[:32], tokens[32:])[32:]
    engine = open_engine(model)
    ours = logits_of(engine, tokens[:32], forced=tokens[32:])[32:]
    engine.close()
    assert errors(ours, reference).max() <= LIMIT[type]
    check_first_choices(ours, reference)
