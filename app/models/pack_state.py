"""PackState: whether a model's expert pack is there and can be used, told from its header."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from app.language import tr
from engine import sizes
from engine.model_info import ModelInfo
from engine.pack import pack_path

# The first fields of native/store/pack.h: magic, version, layout, header bytes, checksum, file
# bytes, fingerprint. The engine compares the rest with the model whenever it opens the pack.
_HEADER = struct.Struct("<8sIIQQQQ")
_MAGIC = b"RUNAPACK"
_VERSION = 1
_LAYOUTS = {0: "plain", 1: "repacked"}


class PackState(msgspec.Struct, frozen=True, kw_only=True):
    """`reason` says why a stale pack cannot be used; `n_bytes` is its size on the disk."""

    kind: Literal["none", "ready", "stale"] = "none"
    path: str = ""
    n_bytes: int = 0
    layout: str = ""
    reason: str = ""


def pack_state(model: ModelInfo, earlier: Sequence[str] = ()) -> PackState:
    """Look at the model's pack in its usual place; reads 48 bytes.

    `earlier` are packs of earlier versions of the same file.
    """
    path = pack_path(model)
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER.size)
            n_bytes = path.stat().st_size
    except FileNotFoundError:
        return _earlier(earlier)
    except OSError as error:
        reason = tr("it cannot be read: {why}", why=error.strerror or error)
        return PackState(kind="stale", path=str(path), reason=reason)
    kind, layout, reason = _judge(head, n_bytes, model)
    return PackState(kind=kind, path=str(path), n_bytes=n_bytes, layout=layout, reason=reason)


def _judge(
    head: bytes, n_bytes: int, model: ModelInfo
) -> tuple[Literal["ready", "stale"], str, str]:
    if len(head) < _HEADER.size or not head.startswith(_MAGIC):
        return "stale", "", tr("the file is not an expert pack")
    _, version, layout, _, _, file_bytes, fingerprint = _HEADER.unpack(head)
    if version != _VERSION:
        return "stale", "", tr("it was built by another version of Runahead")
    if fingerprint != model.fingerprint & (2**64 - 1):
        return "stale", "", tr("it belongs to another model file")
    if file_bytes != n_bytes:
        lacking = tr(
            "it is {has} long instead of {wanted}",
            has=sizes.show(n_bytes),
            wanted=sizes.show(file_bytes),
        )
        return "stale", "", lacking
    return "ready", _LAYOUTS.get(layout, ""), ""


def _earlier(paths: Sequence[str]) -> PackState:
    """The pack of an earlier version of the model file, when one is left."""
    for path in paths:
        try:
            n_bytes = Path(path).stat().st_size
        except OSError:
            continue
        reason = tr("it was built from an earlier version of the model file")
        return PackState(kind="stale", path=path, n_bytes=n_bytes, reason=reason)
    return PackState()
