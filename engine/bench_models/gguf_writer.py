"""Writes a GGUF (version 3), streamed and atomic.

Metadata values are kept encoded (type number and payload bytes), so that those copied from another
file pass through untouched.
"""

import errno
import os
import shutil
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine import sizes
from engine.atomic_file import sync_folder
from engine.bench_models.errors import BenchModelError
from engine.bench_models.tensor_types import TensorType

ALIGNMENT = 32
_U32, _I32, _F32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9


class Value(msgspec.Struct, frozen=True):
    """A metadata value: GGUF's number of its type, and its bytes as they stand in the file."""

    type: int
    payload: bytes


Metadata = dict[str, Value]


def u32(value: int) -> Value:
    """An unsigned 32-bit integer."""
    return Value(_U32, struct.pack("<I", value))


def i32(value: int) -> Value:
    """A signed 32-bit integer."""
    return Value(_I32, struct.pack("<i", value))


def f32(value: float) -> Value:
    """A 32-bit float."""
    return Value(_F32, struct.pack("<f", value))


def boolean(value: bool) -> Value:
    """A truth value."""
    return Value(_BOOL, bytes([value]))


def string(value: str) -> Value:
    """A string."""
    return Value(_STRING, _string(value))


def strings(values: Sequence[str]) -> Value:
    """An array of strings."""
    head = struct.pack("<IQ", _STRING, len(values))
    return Value(_ARRAY, head + b"".join(_string(v) for v in values))


def i32s(values: Sequence[int]) -> Value:
    """An array of signed 32-bit integers."""
    return Value(_ARRAY, struct.pack(f"<IQ{len(values)}i", _I32, len(values), *values))


class TensorSpec(msgspec.Struct, frozen=True):
    """A tensor to be written: ne[0] is the length of a row, as in ggml."""

    name: str
    type: TensorType
    ne: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes of all its rows."""
        n_rows = 1
        for n in self.ne[1:]:
            n_rows *= n
        return n_rows * self.type.row_bytes(self.ne[0])


class GgufWriter:
    """Writes the header, then the tensors in the order they were announced."""

    def __init__(self, file: BinaryIO, metadata: Metadata, tensors: Sequence[TensorSpec]) -> None:
        self._file = file
        self._tensors = tensors
        self._next = 0
        file.write(_header(metadata, tensors))

    def write(
        self,
        name: str,
        chunks: Iterable[NDArray[np.uint8]],
        wrote: Callable[[int], None],
    ) -> None:
        """Write the next tensor, which must be `name`; `wrote` gets the bytes of each chunk."""
        spec = self._tensors[self._next]
        if spec.name != name:
            raise AssertionError(f"tensor {name} is written where {spec.name} was announced")
        written = 0
        for chunk in chunks:
            self._file.write(chunk.data.cast("B"))
            written += chunk.nbytes
            wrote(chunk.nbytes)
        if written != spec.n_bytes:
            raise AssertionError(f"tensor {name} has {written} bytes, announced {spec.n_bytes}")
        self._file.write(bytes(_padding(written)))
        self._next += 1


def file_bytes(metadata: Metadata, tensors: Sequence[TensorSpec]) -> int:
    """Bytes of the whole file."""
    return len(_header(metadata, tensors)) + sum(t.n_bytes + _padding(t.n_bytes) for t in tensors)


@contextmanager
def atomic_file(path: Path, n_bytes: int) -> Iterator[BinaryIO]:
    """A file that appears under `path` only when the block ends without an exception.

    Until then it is a ".partial" file beside it, removed on any exception. Raises BenchModelError:
    no_space (also checked before anything is written) or io.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(path.parent).free
        if free < n_bytes:
            raise BenchModelError(
                "no_space",
                f"{path} needs {sizes.show(n_bytes)}, but only {sizes.show(free)} are free on "
                "its disk; choose fewer layers, a smaller type or another disk",
            )
        try:
            with partial.open("wb") as file:
                yield file
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as e:
        code = "no_space" if e.errno in _NO_SPACE else "io"
        raise BenchModelError(code, f"{path} cannot be written: {e.strerror or e}") from e


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def _header(metadata: Metadata, tensors: Sequence[TensorSpec]) -> bytes:
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    for key, value in metadata.items():
        parts += [_string(key), struct.pack("<I", value.type), value.payload]
    offset = 0
    for tensor in tensors:
        parts += [
            _string(tensor.name),
            struct.pack(f"<I{len(tensor.ne)}Q", len(tensor.ne), *tensor.ne),
            struct.pack("<IQ", tensor.type.number, offset),
        ]
        offset += tensor.n_bytes + _padding(tensor.n_bytes)
    header = b"".join(parts)
    return header + bytes(_padding(len(header)))


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _padding(n: int) -> int:
    return -n % ALIGNMENT
