"""`inspect` says in one sentence whether a file runs, and if not why."""

import pytest

from engine.bench_models.gguf_writer import Metadata, string
from engine.bench_models.tokenizer import N_VOCAB, byte_tokenizer
from engine.model_info import inspect_model
from tests.helpers.family_models import (
    Setting,
    Tensor,
    experts,
    gated_ffn,
    head,
    matrix,
    qk_norms,
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


def reason(
    family: str,
    settings: dict[str, Setting],
    tensors: list[Tensor],
    vocabulary: Metadata | None = None,
) -> str:
    info = inspect_model(write_model(family, settings, tensors, vocabulary=vocabulary))
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


@pytest.mark.parametrize(
    ("architecture", "what"),
    [
        ("controlvector", "a control vector, which cannot run without its model"),
        ("bert", "an embedding model"),
        ("nomic-bert-moe", "an embedding model"),
        ("gemma-embedding", "an embedding model"),
        ("whisper", "writes down speech"),
        ("eagle3", "only drafts tokens for another model"),
        ("gemma4-assistant", "only drafts tokens for another model"),
    ],
)
def test_what_is_no_language_model_is_called_what_it_is(architecture: str, what: str) -> None:
    text = reason(architecture, {}, usual())
    assert what in text
    assert "mixture" not in text


@pytest.mark.parametrize("pre", ["llama-bpe", "gpt-4o", "deepseek-v3", "qwen35", "glm4", "kimi-k2"])
def test_files_with_tokenizers_that_llama_cpp_knows_run(pre: str) -> None:
    vocabulary = byte_tokenizer() | {"tokenizer.ggml.pre": string(pre)}
    assert reason("llama", SETTINGS, usual(), vocabulary) == ""


def test_a_tokenizer_that_llama_cpp_does_not_know_is_a_reason() -> None:
    vocabulary = byte_tokenizer() | {"tokenizer.ggml.pre": string("of-next-year")}
    assert "tokenizer.ggml.pre 'of-next-year' is not known" in reason(
        "llama", SETTINGS, usual(), vocabulary
    )


def test_a_tokenizer_without_merges_is_a_reason() -> None:
    vocabulary = byte_tokenizer()
    del vocabulary["tokenizer.ggml.merges"]
    assert "tokenizer.ggml.merges is missing" in reason("llama", SETTINGS, usual(), vocabulary)


def test_more_tokens_than_rows_of_the_embedding_are_a_reason() -> None:
    tensors = [t for t in usual() if t.name not in ("token_embd.weight", "output.weight")]
    tensors.append(matrix("token_embd.weight", N_EMBD, N_VOCAB - 16))
    text = reason("llama", SETTINGS, tensors)
    assert f"{N_VOCAB} tokens in the vocabulary, but {N_VOCAB - 16} rows" in text


def test_one_tensor_for_each_expert_is_called_an_old_layout() -> None:
    tensors = [t for t in usual() if "_exps." not in t.name]
    for e in range(4):
        tensors += [
            matrix(f"blk.0.ffn_gate.{e}.weight", N_EMBD, 32),
            matrix(f"blk.0.ffn_up.{e}.weight", N_EMBD, 32),
            matrix(f"blk.0.ffn_down.{e}.weight", 32, N_EMBD),
        ]
    text = reason("llama", SETTINGS, tensors)
    assert "the old layout with one tensor for each expert; convert the model anew" in text


def test_scales_of_whole_matrices_are_a_reason_that_names_nvfp4() -> None:
    tensors = [*usual(), vector("blk.0.ffn_up_exps.scale", 4)]
    text = reason("llama", SETTINGS, tensors)
    assert "'blk.0.ffn_up_exps.scale' scales a whole matrix, as NVFP4 files do" in text


def test_factors_of_frequencies_are_a_reason_where_the_family_does_not_read_them() -> None:
    factors = vector("rope_freqs.weight", 16)
    assert reason("llama", SETTINGS, [*usual(), factors]) == ""
    settings = SETTINGS | {"expert_feed_forward_length": 32}
    normed = [*usual(), *qk_norms(0, 32, 32)]
    assert reason("qwen3moe", settings, normed) == ""
    text = reason("qwen3moe", settings, [*normed, factors])
    assert "'rope_freqs.weight' is not known to the family 'qwen3moe'" in text


def test_a_draft_layer_whose_experts_are_of_another_form_is_no_reason() -> None:
    drafting = SETTINGS | {"block_count": 2, "nextn_predict_layers": 1}
    tensors = [*usual(), *experts(1, N_EMBD, 32, 4, fused=True)]
    assert reason("llama", drafting, tensors) == ""


def test_no_group_of_experts_is_one_group() -> None:
    groups: dict[str, Setting] = {"expert_group_count": 0, "expert_group_used_count": 0}
    assert reason("llama", SETTINGS | groups, usual()) == ""


@pytest.mark.parametrize(("family", "n_ff_shared"), [("dots1", 32), ("bailingmoe2", 48)])
def test_only_bailingmoe2_reads_a_size_of_shared_experts(family: str, n_ff_shared: int) -> None:
    settings = SETTINGS | {
        "expert_feed_forward_length": 32,
        "expert_shared_count": 1,
        "expert_shared_feed_forward_length": 48,
    }
    tensors = [*usual(), *qk_norms(0, 32, 32), *gated_ffn(0, N_EMBD, n_ff_shared, "_shexp")]
    assert reason(family, settings | {"expert_gating_func": 2}, tensors) == ""
    assert f"{family}.expert_gating_func is missing" in reason(family, settings, tensors)


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
