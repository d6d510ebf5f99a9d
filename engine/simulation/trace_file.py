"""The file of a RoutingTrace: an .npz with one .npy per array, and `meta`, a few bytes of JSON.

A trace may come from anywhere, so reading trusts nothing: no pickle, no parser of numpy's headers,
every size compared with the file's own before memory is taken.
"""

import re
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine import errors
from engine.atomic_file import replaced

FORMAT = "runahead routing trace"
VERSION = 1
DTYPES = {"meta": "|u1", "experts": "<i2", "probabilities": "<f2", "lookahead": "<f2"}
DIMENSIONS = {"meta": 1, "experts": 4, "probabilities": 4, "lookahead": 5}

_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z][0-9])', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \} *\n"
)
_MOST_META = 1 << 16
_MOST_BYTES = 1 << 34
# Scores do not compress further; what claims to would only fill memory.
_MOST_RATIO = 200
_FREE_BYTES = 1 << 26
_CHUNK = 1 << 24
_HINT = "Record it again with `runahead record`."

# Experts, probabilities, lookahead; the last two may be missing.
Arrays = dict[str, NDArray[Any]]


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace says beside its arrays."""

    model: str
    record_bytes: int
    n_expert: int
    format: str = FORMAT
    version: int = VERSION


def write(path: Path, meta: Meta, arrays: Arrays) -> None:
    """Write it, whole or not at all. Raises StorageError."""
    try:
        with replaced(path) as file:
            _write(file, {"meta": _to_array(meta), **arrays})
    except OSError as error:
        raise errors.from_os(error, f"The routing trace {path} cannot be written") from error


def read(path: Path) -> tuple[Meta, Arrays]:
    """Read it; arrays have the right type and number of dimensions, nothing more is known.

    Raises ModelFileError naming the field that is wrong, or StorageError.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = _members(path, archive)
            arrays = {name: _array(path, archive, members[name], name) for name in members}
    except (zipfile.BadZipFile, NotImplementedError) as error:
        refuse(path, f"is no routing trace ({error})")
    except OSError as error:
        raise errors.from_os(error, f"The routing trace {path} cannot be read") from error
    try:
        meta = msgspec.json.decode(arrays.pop("meta").tobytes(), type=Meta)
    except (msgspec.DecodeError, RecursionError) as error:
        refuse(path, f"has a damaged field 'meta': {error}")
    if meta.format != FORMAT or meta.version != VERSION:
        refuse(path, f"is {meta.format[:60]!r} of version {meta.version}, not {VERSION}")
    return meta, arrays


def refuse(path: Path, why: str) -> NoReturn:
    """Raise ModelFileError for this file."""
    raise errors.ModelFileError(f"{path} {why}", _HINT)


def _to_array(meta: Meta) -> NDArray[np.uint8]:
    return np.frombuffer(msgspec.json.encode(meta), dtype=np.uint8)


def _write(file: IO[bytes], arrays: Arrays) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            stored = np.ascontiguousarray(array, dtype=DTYPES[name])
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, stored, allow_pickle=False)


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name not in DTYPES or name in members:
            refuse(path, f"holds {info.filename[:60]!r}, which a routing trace has not, or once")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            refuse(path, f"has a field {name!r} that is compressed in an unknown way")
        members[name] = info
    for name in ("meta", "experts"):
        if name not in members:
            refuse(path, f"has no field {name!r}, so it is no routing trace")
    if sum(info.file_size for info in members.values()) > _MOST_BYTES:
        refuse(path, f"claims to hold more than {_MOST_BYTES >> 30} GiB")
    if members["meta"].file_size > _MOST_META:
        refuse(path, f"has a field 'meta' of {members['meta'].file_size} bytes")
    return members


def _array(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    try:
        return _read_array(archive, info, name)
    except MemoryError:
        raise errors.OutOfMemoryError(f"{path}: {name} does not fit into memory") from None
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, RuntimeError) as error:
        refuse(path, f"has a damaged field {name!r}: {error}")


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    """One array. Raises ValueError, or what zipfile raises, when it is not what it should be."""
    if info.file_size > max(_FREE_BYTES, _MOST_RATIO * info.compress_size):
        raise ValueError(f"it claims to grow from {info.compress_size} to {info.file_size} bytes")
    with archive.open(info) as member:
        prelude = member.read(10)
        if prelude[:8] != b"\x93NUMPY\x01\x00" or len(prelude) != 10:
            raise ValueError("it does not begin as a .npy of version 1")
        n_header = int.from_bytes(prelude[8:], "little")
        header = _HEADER.fullmatch(member.read(n_header))
        if header is None:
            raise ValueError("its header is not one that numpy writes")
        dtype = header[1].decode()
        if dtype != DTYPES[name]:
            raise ValueError(f"it is of type {dtype}, not {DTYPES[name]}")
        shape = tuple(int(n) for n in header[2].replace(b" ", b"").split(b",") if n)
        n_bytes = np.dtype(dtype).itemsize
        for n in shape:
            n_bytes *= n  # Python's own integers: no overflow
        if len(shape) != DIMENSIONS[name]:
            raise ValueError(f"its shape {shape} has not {DIMENSIONS[name]} dimensions")
        if info.file_size != 10 + n_header + n_bytes:
            raise ValueError(f"its shape {shape} needs {n_bytes} bytes, the file has others")
        data = bytearray()  # memory is taken as bytes arrive
        while len(data) < n_bytes:
            part = member.read(min(_CHUNK, n_bytes - len(data)))
            if not part:
                raise ValueError("it ends early")
            data += part
        if member.read(1):  # also lets zipfile compare the checksum
            raise ValueError("it goes on after its end")
    return np.frombuffer(data, dtype=dtype).reshape(shape)
