"""Vocabularies copied from another GGUF, whole or damaged."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bench_models.errors import BenchModelError
from engine.bench_models.gguf_writer import GgufWriter, Metadata, i32s, string, strings, u32
from engine.bench_models.make_model import make_model
from engine.bench_models.tokenizer import N_VOCAB, byte_tokenizer
from engine.bench_models.vocabulary import byte_vocabulary, copy_vocabulary
from tests.helpers.llama import opened
from tests.helpers.models import tiny_model


def _write(path: Path, metadata: Metadata) -> Path:
    with path.open("wb") as file:
        GgufWriter(file, metadata, [])
    return path


def test_a_copied_vocabulary_is_the_original() -> None:
    copied = copy_vocabulary(tiny_model())
    assert copied.metadata == byte_tokenizer()
    assert copied.n_vocab == N_VOCAB


def test_only_normal_tokens_of_a_copied_vocabulary_are_likely() -> None:
    assert copy_vocabulary(tiny_model()).unlikely == list(range(256, N_VOCAB))
    assert 0x41 not in byte_vocabulary().unlikely


def test_a_model_takes_over_another_vocabulary(tmp_path: Path) -> None:
    tokens = byte_tokenizer() | {
        "tokenizer.ggml.tokens": strings([f"t{i}" for i in range(1000)]),
        "tokenizer.ggml.token_type": i32s([1] * 1000),
        "tokenizer.ggml.merges": strings(["a b"]),
    }
    source = _write(tmp_path / "v.gguf", {"general.architecture": string("none")} | tokens)
    made = make_model(tmp_path / "m.gguf", like="tiny", type="q8_0", vocab=source)
    assert made.n_vocab == 1000
    with opened(made.path) as llama:
        assert llama.n_vocab == 1000
        assert llama.detokenize([999]) == b"t999"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "tokenizer.ggml.model is missing"),
        ({"tokenizer.ggml.model": string("gpt2")}, "tokenizer.ggml.tokens is missing"),
        (byte_tokenizer() | {"tokenizer.ggml.tokens": u32(5)}, "has type 4, not array"),
        (byte_tokenizer() | {"tokenizer.ggml.tokens": strings([])}, "has 0 elements"),
        (byte_tokenizer() | {"tokenizer.ggml.token_type": i32s([1])}, "token_type has 1 elements"),
    ],
)
def test_a_gguf_without_a_usable_vocabulary_is_told(
    tmp_path: Path, metadata: Metadata, message: str
) -> None:
    path = _write(tmp_path / "v.gguf", metadata)
    with pytest.raises(BenchModelError, match=message) as caught:
        copy_vocabulary(path)
    assert caught.value.code == "bad_file"
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "magic is 4 bytes"),
        (b"PK\x03\x04" + bytes(40), "no GGUF file"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "version is 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "metadata count is"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 62), "runs past the end"),
        (b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"k", 77), "no such metadata type"),
        (
            b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 8, 1 << 50),
            "more strings than the file can hold",
        ),
        (
            b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 9, 1),
            "arrays of this type are not accepted",
        ),
    ],
)
def test_a_damaged_gguf_is_told(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(BenchModelError, match=message) as caught:
        copy_vocabulary(path)
    assert caught.value.code == "bad_file"


def test_a_missing_vocabulary_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(BenchModelError, match=r"none\.gguf cannot be read") as caught:
        copy_vocabulary(tmp_path / "none.gguf")
    assert caught.value.code == "io"


@given(st.data())
def test_no_damage_does_more_than_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    whole = _write(path, byte_tokenizer()).read_bytes()
    damaged = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 4))):
        if damaged:
            at = data.draw(st.integers(0, min(len(damaged), 300) - 1))
            damaged[at] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged)
    try:
        copied = copy_vocabulary(path)
    except BenchModelError as e:
        assert e.code == "bad_file"
    else:
        assert copied.n_vocab >= 1
