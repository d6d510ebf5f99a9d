"""Copies the vocabulary of another GGUF, which may be hostile.

Only its metadata is read, value by value, every length checked against the bytes left in the file.
"""

import os
import struct
from pathlib import Path
from typing import BinaryIO

import msgspec

from engine.bench_models.errors import BenchModelError
from engine.bench_models.gguf_writer import Metadata, Value
from engine.bench_models.tokenizer import N_VOCAB, byte_tokenizer, printable_bytes

_STRING, _ARRAY = 8, 9
_SCALAR_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_MAX_KEYS = 1 << 16
_MAX_METADATA_BYTES = 256 << 20
_MAX_TOKENS = 1 << 20
_NORMAL = 1


class Vocabulary(msgspec.Struct, frozen=True):
    """The tokenizer.* keys, how many tokens they name, and which should not be sampled."""

    metadata: Metadata
    n_vocab: int
    unlikely: list[int]


def byte_vocabulary() -> Vocabulary:
    """Single bytes; only readable ones are sampled."""
    unlikely = set(range(N_VOCAB)) - set(printable_bytes())
    return Vocabulary(byte_tokenizer(), N_VOCAB, sorted(unlikely))


def copy_vocabulary(path: Path) -> Vocabulary:
    """The vocabulary of a GGUF. Raises BenchModelError: bad_file or io, naming file and field."""
    try:
        with path.open("rb") as file:
            metadata = _Reader(path, file).tokenizer_metadata()
    except OSError as e:
        raise BenchModelError("io", f"{path} cannot be read: {e.strerror or e}") from e
    for key in ("tokenizer.ggml.model", "tokenizer.ggml.tokens"):
        if key not in metadata:
            raise BenchModelError("bad_file", f"{path} has no vocabulary: {key} is missing")
    n_vocab, element = _array_head(path, metadata, "tokenizer.ggml.tokens")
    if element != _STRING or not 1 <= n_vocab <= _MAX_TOKENS:
        raise BenchModelError(
            "bad_file",
            f"{path}: tokenizer.ggml.tokens has {n_vocab} elements of type {element}, "
            f"not 1 to {_MAX_TOKENS} strings",
        )
    return Vocabulary(metadata, n_vocab, _not_normal(path, metadata, n_vocab))


def _not_normal(path: Path, metadata: Metadata, n_vocab: int) -> list[int]:
    key = "tokenizer.ggml.token_type"
    if key not in metadata:
        return []
    n, element = _array_head(path, metadata, key)
    if n != n_vocab or element not in (4, 5):
        raise BenchModelError(
            "bad_file",
            f"{path}: {key} has {n} elements of type {element}, not {n_vocab} 32-bit integers",
        )
    types = struct.unpack_from(f"<{n}i", metadata[key].payload, 12)
    return [i for i, t in enumerate(types) if t != _NORMAL]


def _array_head(path: Path, metadata: Metadata, key: str) -> tuple[int, int]:
    """How many elements, of which type."""
    if metadata[key].type != _ARRAY:
        raise BenchModelError("bad_file", f"{path}: {key} has type {metadata[key].type}, not array")
    element, n = struct.unpack_from("<IQ", metadata[key].payload)
    return n, element


class _Reader:
    """Reads metadata in order; never beyond the file, never more than a bounded amount."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._left = min(os.fstat(file.fileno()).st_size, _MAX_METADATA_BYTES)

    def tokenizer_metadata(self) -> Metadata:
        """All tokenizer.* keys."""
        magic = self._bytes(4, "magic")
        if magic != b"GGUF":
            raise self._bad("magic", repr(magic), "this is no GGUF file")
        (version,) = struct.unpack("<I", self._bytes(4, "version"))
        if version not in (2, 3):
            raise self._bad("version", version, "only 2 and 3 (little-endian) are known")
        _, n_keys = struct.unpack("<QQ", self._bytes(16, "counts"))
        if n_keys > _MAX_KEYS:
            raise self._bad("metadata count", n_keys, f"at most {_MAX_KEYS} are accepted")
        found: Metadata = {}
        for i in range(n_keys):
            key = self._string(f"key {i}").decode(errors="replace")
            (number,) = struct.unpack("<I", self._bytes(4, key))
            payload = self._value(number, key)
            if key.startswith("tokenizer."):
                found[key] = Value(number, payload)
        return found

    def _value(self, number: int, key: str) -> bytes:
        if number in _SCALAR_BYTES:
            return self._bytes(_SCALAR_BYTES[number], key)
        if number == _STRING:
            text = self._string(key)
            return struct.pack("<Q", len(text)) + text
        if number == _ARRAY:
            return self._array(key)
        raise self._bad(key, number, "no such metadata type")

    def _array(self, key: str) -> bytes:
        head = self._bytes(12, key)
        element, n = struct.unpack("<IQ", head)
        if element in _SCALAR_BYTES:
            return head + self._bytes(n * _SCALAR_BYTES[element], key)
        if element != _STRING:
            raise self._bad(key, element, "arrays of this type are not accepted")
        if n * 8 > self._left:
            raise self._bad(key, n, "more strings than the file can hold")
        parts = [head]
        for _ in range(n):
            text = self._string(key)
            parts += [struct.pack("<Q", len(text)), text]
        return b"".join(parts)

    def _string(self, field: str) -> bytes:
        (length,) = struct.unpack("<Q", self._bytes(8, field))
        return self._bytes(length, field)

    def _bytes(self, n: int, field: str) -> bytes:
        if n > self._left:
            raise self._bad(
                field, f"{n} bytes", "it runs past the end of the file, or past 256 MiB of metadata"
            )
        self._left -= n
        data = self._file.read(n)
        if len(data) != n:
            raise self._bad(field, f"{n} bytes", "the file ends before")
        return data

    def _bad(self, field: str, value: object, why: str) -> BenchModelError:
        return BenchModelError("bad_file", f"{self._path}: {field} is {value}: {why}")
