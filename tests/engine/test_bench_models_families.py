"""Bench models of other families load in llama.cpp, compute the same here, and stay lively."""

from pathlib import Path

import pytest

from engine.bench_models.make_model import make_model
from engine.model_info import inspect_model
from tests.helpers.family_checks import check_parity
from tests.helpers.llama_reference import reference_logits
from tests.helpers.native_runs import text_tokens

# Few and narrow layers, but all that a family's layer has.
SMALL = {"n_embd": 256, "n_expert": 16, "n_ff_exp": 64}
SHAPES = [
    ("qwen3.6-35b-a3b", "q4_0", SMALL | {"n_layer": 4, "n_ff": 64}),
    ("gemma4-26b-a4b", "q4_0", SMALL | {"n_layer": 6, "n_ff": 96}),
    ("gemma4-26b-a4b", "q8_0", SMALL | {"n_layer": 6, "n_ff": 96}),
    ("gemma4-26b-a4b", "q8_0", SMALL | {"n_layer": 6, "n_ff": 96, "n_head_kv": 4}),
    ("gpt-oss-20b", "mxfp4", SMALL | {"n_layer": 4, "n_ff": 64, "n_head": 8}),
]


@pytest.mark.parametrize(("like", "type", "sizes"), SHAPES, ids=[s[0] for s in SHAPES])
def test_a_small_model_of_the_shape_matches_llama_cpp_and_is_lively(
    like: str, type: str, sizes: dict[str, int], tmp_path: Path
) -> None:
    made = make_model(tmp_path / "model.gguf", like=like, type=type, **sizes)
    info = inspect_model(made.path)
    assert info.supported, info.reason
    assert info.n_moe_layer == sizes["n_layer"]
    check_parity(made.path, 1e-3, n_prompt=48, n_decode=16)
    readable = reference_logits(made.path, text_tokens(32))[:, 0x20:0x7F]
    assert 0.5 < readable.std() < 4
    assert len(set(readable.argmax(axis=1))) > 5
