"""A model in two files computes what the same model in one file does."""

from pathlib import Path

import numpy as np

from engine._native import inspect
from tests.helpers.family_checks import F32_LIMIT, FORCED, PROMPT, check_identity, check_parity
from tests.helpers.family_models import head, usual_layer, usual_settings, write_model
from tests.helpers.native_runs import logits_of, open_engine

N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF = 128, 3, 4, 2, 8, 64


def model(type: str, n_files: int = 2) -> Path:
    """Of two files, each has some of layer 1's experts."""
    settings = usual_settings(N_LAYER, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, 3) | {
        "feed_forward_length": N_FF,
        "attention.layer_norm_rms_epsilon": 1e-6,
    }
    split_at = "blk.1.ffn_up_exps.weight" if n_files == 2 else ""
    tensors = head(N_EMBD)
    for il in range(N_LAYER):
        tensors += usual_layer(il, N_EMBD, N_HEAD, N_HEAD_KV, N_EXPERT, N_FF)
    return write_model("llama", settings, tensors, type, split_at=split_at)


def test_the_second_file_is_found_beside_the_first() -> None:
    found = inspect(str(model("f32")))
    assert found["supported"], found["reason"]
    names = [file["path"][-len("-00001-of-00002.gguf") :] for file in found["files"]]
    assert names == ["-00001-of-00002.gguf", "-00002-of-00002.gguf"]


def test_f32_matches_llama_cpp() -> None:
    check_parity(model("f32"), F32_LIMIT)
    check_parity(model("f32"), F32_LIMIT, store="gguf")


def test_two_files_give_the_bits_of_one() -> None:
    logits = []
    for n_files in (1, 2):
        engine = open_engine(model("q4_0", n_files))
        logits.append(logits_of(engine, PROMPT, FORCED))
        engine.close()
    np.testing.assert_array_equal(logits[1], logits[0])


def test_nothing_beside_a_request_changes_its_bits() -> None:
    check_identity(model("q4_0"))
