"""Expert packs: where a model's pack lies, whether it can be used, and how it is built."""

import os
import re
import shutil
from pathlib import Path
from typing import Literal

import msgspec

from engine import errors, folders, native, sizes
from engine.model_info import ModelInfo
from engine.pack_leftovers import remove_leftovers

# Left free on the disk: a full system disk harms more than the engine.
SPARE_BYTES = 1 << 30

Layout = Literal["repacked", "plain"]


class PackFile(msgspec.Struct, frozen=True):
    """A finished pack; `layout` is what it became ("plain" where nothing could be repacked)."""

    path: str
    bytes: int
    experts: int
    layout: str


def pack_path(model: ModelInfo, folder: Path | None = None) -> Path:
    """Where the model's pack lies, for example packs/qwen3-30b-a3b-0123456789abcdef.pack."""
    words = re.sub(r"[^a-z0-9.]+", "-", model.title.lower()).strip("-.")[:60] or "model"
    return (folder or folders.packs()) / f"{words}-{model.fingerprint & (2**64 - 1):016x}.pack"


def why_unusable(
    path: Path, model: ModelInfo, *, verify: bool = False, progress: native.Progress | None = None
) -> str:
    """Why the pack cannot serve the model; "" when it can. `verify` reads every byte of it."""
    readable = native.utf8(str(path), "The pack's path")
    if not path.exists():
        return "there is none yet"
    watched = native.Watched(progress)
    with native.translated(watched):
        return native.check_pack(readable, model.path, verify, watched)


def check_folder(pack: Path) -> None:
    """Make the folder of a pack. Raises StorageError where none can be, or takes nothing."""
    try:
        pack.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise errors.from_os(error, "The folder for expert packs cannot be used") from error
    if not os.access(pack.parent, os.W_OK):
        raise errors.StorageError(
            f"Nothing may be written in {pack.parent}",
            "Choose another place for the pack, or run the model in place (store: gguf).",
        )


def build_pack(
    model: ModelInfo,
    path: Path,
    *,
    layout: Layout = "repacked",
    progress: native.Progress | None = None,
) -> PackFile:
    """Write the pack; after an error, a cancel or a crash nothing half-written has its name.

    Whoever wants a pack leaves it to this to remove what a killed packing of it has left, and then
    to see what space there is: it raises OutOfSpaceError, also before anything is written.
    """
    readable = native.utf8(str(path), "The pack's path")
    if not model.supported:
        raise errors.UnsupportedModelError(f"{model.title} cannot be packed: {model.reason}")
    check_folder(path)
    remove_leftovers(path)
    if lacking := _missing_space(path, model):
        raise errors.OutOfSpaceError(
            f"The pack of {model.title} needs {sizes.show(model.experts_total_bytes)} in"
            f" {path.parent}, {sizes.show(lacking)} more than may be used there"
        )
    watched = native.Watched(progress)
    with native.translated(watched):
        return msgspec.convert(native.write_pack(model.path, readable, layout, watched), PackFile)


def _missing_space(path: Path, model: ModelInfo) -> int:
    """Bytes that the disk lacks for the model's pack; 0 when it fits."""
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError as error:
        raise errors.from_os(error, "The folder for expert packs cannot be used") from error
    # A pack that is there already goes only when the new one is whole: its space does not count.
    return max(0, model.experts_total_bytes + SPARE_BYTES - free)
