"""Real vocabularies give the tokens that llama.cpp's own tests expect."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine._native import Engine
from engine.bench_models.vocabulary import copy_vocabulary
from tests.helpers.family_models import (
    Tensor,
    usual_layer,
    usual_settings,
    vector,
    write_model,
)
from tests.helpers.llama_sources import MODELS, without_sources
from tests.helpers.native_runs import open_engine

pytestmark = without_sources

NAMES = ["gemma-4", "qwen35", "qwen2", "deepseek-llm", "llama-bpe", "llama-spm", "phi-3"]
N_EMBD = 32


@pytest.fixture(params=NAMES)
def case(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, Path]]:
    file = MODELS / f"ggml-vocab-{request.param}.gguf"
    vocabulary = copy_vocabulary(file)
    tensors = [
        Tensor("token_embd.weight", (N_EMBD, vocabulary.n_vocab), 1.0),
        vector("output_norm.weight", N_EMBD),
        *usual_layer(0, N_EMBD, 2, 1, 4, 32),
    ]
    settings = usual_settings(1, N_EMBD, 2, 1, 4, 2) | {"feed_forward_length": 32}
    engine = open_engine(
        write_model("llama", settings, tensors, "q8_0", vocabulary=vocabulary.metadata)
    )
    yield engine, file
    engine.close()


def test_texts_become_the_expected_tokens_and_come_back(case: tuple[Engine, Path]) -> None:
    engine, file = case
    texts = Path(f"{file}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    lines = Path(f"{file}.out").read_text().splitlines()
    n_checked = 0
    for text, line in zip(texts, lines, strict=False):
        expected = [int(token) for token in line.split()]
        assert engine.tokenize(text, add_special=False) == expected, repr(text)
        n_checked += 1
    assert n_checked > 30
