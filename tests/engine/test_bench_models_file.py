"""A bench model loads in llama.cpp, and its file is whole or absent."""

import errno
import itertools
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.bench_models.errors import BenchModelError
from engine.bench_models.make_model import make_model
from engine.bench_models.tensor_types import FILE_TYPES
from tests.helpers.llama import opened
from tests.helpers.models import tiny_model


@pytest.mark.parametrize("type", FILE_TYPES)
def test_llama_cpp_loads_every_type_and_finds_lively_logits(type: str) -> None:
    with opened(tiny_model(type)) as llama:
        logits = [llama.step([token])[0] for token in llama.tokenize("To be, or not to be")]
    rows = np.stack(logits)
    assert np.isfinite(rows).all()
    readable = rows[:, 0x20:0x7F]
    assert 1.5 < readable.std() < 2.5  # the output gain is 2
    assert (rows[:, 256:].max(axis=1) < readable.max(axis=1) - 8).all()
    top = np.sort(readable, axis=1)
    assert np.median(top[:, -1] - top[:, -2]) > 0.1
    assert len(set(readable.argmax(axis=1))) > 5


def test_rows_that_do_not_fill_a_block_of_256_fall_back_to_smaller_blocks() -> None:
    with opened(tiny_model("q4_k_m", n_embd=224, n_ff_exp=96, n_layer=2)) as llama:
        assert np.isfinite(llama.step([65])).all()


@pytest.mark.parametrize(
    "text", ["Hello, world!", "Grüße,\t日本語 🎉\r\n  and  spaces ", "a\u0301\x00\x7f", "x" * 300]
)
def test_any_text_comes_back_from_the_byte_tokenizer(text: str) -> None:
    with opened(tiny_model()) as llama:
        tokens = llama.tokenize(text)
        assert tokens == list(text.encode())
        assert llama.detokenize(tokens) == text.encode()


def test_chat_marks_are_single_tokens() -> None:
    with opened(tiny_model()) as llama:
        assert llama.tokenize("<|im_start|>user\n<|im_end|>")[0::6] == [257, 258]


def test_equal_arguments_give_equal_bytes_and_another_seed_others(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    for path, seed in zip(paths, [7, 7, 8], strict=True):
        make_model(path, like="tiny", type="q4_0", seed=seed, n_layer=1)
    a, b, c = (path.read_bytes() for path in paths)
    assert a == b
    assert len(a) == len(c) and a != c


def test_the_report_agrees_with_the_file(tmp_path: Path) -> None:
    made = make_model(tmp_path / "m.gguf", like="tiny", type="q4_k_m", n_layer=8)
    assert made.file_bytes == made.path.stat().st_size
    q4, q6 = 256 * 256 // 256 * 144, 256 * 256 // 256 * 210
    assert made.expert_bytes == [3 * q4, 2 * q4 + q6]
    assert made.experts_total_bytes < made.file_bytes
    assert made.calibration is None


@pytest.mark.parametrize("calls_until_stop", [1, 2])
def test_a_cancelled_model_leaves_nothing(tmp_path: Path, calls_until_stop: int) -> None:
    calls = itertools.count(1)
    with pytest.raises(BenchModelError) as caught:
        make_model(
            tmp_path / "m.gguf",
            like="tiny",
            type="f32",
            n_expert=64,
            n_layer=8,
            progress=lambda stage, done, total: next(calls) < calls_until_stop,
        )
    assert caught.value.code == "cancelled"
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(stage: str, done: int, total: int) -> bool:
        assert list(tmp_path.glob("*.partial"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_model(tmp_path / "m.gguf", like="tiny", progress=interrupted)
    assert list(tmp_path.iterdir()) == []


def test_progress_ends_at_its_total(tmp_path: Path) -> None:
    told = []
    made = make_model(
        tmp_path / "m.gguf", like="tiny", progress=lambda *now: told.append(now) is None
    )
    stage, done, total = told[-1]
    assert stage == "write" and done == total <= made.file_bytes
    assert [now[1] for now in told] == sorted(now[1] for now in told)


def test_a_full_disk_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BenchModelError, match=r"m\.gguf.*No space left") as caught:
        make_model(tmp_path / "m.gguf", like="tiny")
    assert caught.value.code == "no_space"
    assert list(tmp_path.iterdir()) == []


def test_a_disk_too_small_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**6, 10**6 - 10**5, 10**5)
    )
    with pytest.raises(
        BenchModelError, match=r"needs 4\.22 GB, but only 100 kB are free"
    ) as caught:
        make_model(tmp_path / "new" / "m.gguf", n_layer=12)
    assert caught.value.code == "no_space"


def test_a_model_that_is_there_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_text("mine")
    with pytest.raises(BenchModelError, match="exists already") as caught:
        make_model(path, like="tiny")
    assert caught.value.code == "exists"
    assert path.read_text() == "mine"
    make_model(path, like="tiny", overwrite=True)
    assert path.read_bytes()[:4] == b"GGUF"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"like": "gpt-5"}, "unknown model shape 'gpt-5'; known are gemma4-26b-a4b"),
        ({"type": "q2_k"}, "unknown type 'q2_k'; known are f32"),
        ({"n_layer": 0}, "n_layer is 0, not 1 to 512"),
        ({"n_expert_used": 17}, "n_expert_used 17 exceeds n_expert 16"),
        ({"n_embd": 250}, "n_embd is 250, not a multiple of 32"),
        ({"n_head": 3}, "n_head 3 is not a multiple of n_head_kv 2"),
        ({"n_wheels": 4}, "a shape has no size 'n_wheels'"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_sizes_and_names_are_told(
    tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(BenchModelError) as caught:
        make_model(tmp_path / "m.gguf", **{"like": "tiny", **arguments})  # type: ignore[arg-type]
    assert caught.value.code == "invalid"
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []
