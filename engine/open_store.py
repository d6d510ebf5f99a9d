"""Where an engine reads its experts from: decided when a model is opened."""

import os
from pathlib import Path

from engine import errors, native, sizes
from engine.model_info import ModelInfo
from engine.options import EngineOptions, Store
from engine.pack import build_pack, missing_space, pack_path, why_unusable
from engine.pack_leftovers import remove_leftovers


def choose_store(
    model: ModelInfo,
    options: EngineOptions,
    notices: list[str],
    progress: native.Progress | None,
) -> tuple[Store, str]:
    """The store, and the pack's path where it is a pack.

    In its usual place, a pack that is absent, damaged or of another version is built. Where the
    disk is too small for it, or nothing can be written or removed there, the model file is read in
    place instead, and a notice says so. A pack that the caller named is never overwritten.
    """
    if options.store != "pack":
        return options.store, ""
    path = Path(options.pack_path) if options.pack_path else pack_path(model)
    reason = why_unusable(path, model, progress=progress).rstrip(".")
    if not reason:
        return "pack", str(path)
    if path.exists():
        if options.pack_path:
            raise errors.ModelFileError(
                f"The pack {path} cannot serve {model.title}: {reason}",
                "Choose another path, or delete it to have it built again.",
            )
        try:
            path.unlink()  # of no use any more, and the new one may need its space
        except OSError as error:
            notices.append(
                f"The expert pack {path} is of no use ({reason}) and cannot be replaced"
                f" ({error.strerror}), so the model file is read in place, which is slower."
            )
            return "gguf", ""
        notices.append(f"The expert pack is built again: {reason}.")
    remove_leftovers(path)
    try:
        lacking = missing_space(path, model)
        if not os.access(path.parent, os.W_OK):
            raise errors.StorageError(
                f"Nothing may be written in {path.parent}",
                "Choose another place for the pack, or run the model in place (store: gguf).",
            )
    except errors.StorageError as error:
        if options.pack_path:
            raise
        notices.append(
            f"No expert pack can be built, so the model file is read in place, which is slower."
            f" {error.message}."
        )
        return "gguf", ""
    if not lacking:
        try:
            build_pack(model, path, progress=progress)
        except errors.OutOfSpaceError:  # someone else filled the disk meanwhile
            lacking = missing_space(path, model)
        else:
            return "pack", str(path)
    notices.append(
        f"The disk is too small for an expert pack, so the model file is read in place, which is"
        f" slower: the pack needs {sizes.show(model.experts_total_bytes)} in {path.parent},"
        f" {sizes.show(lacking)} more than may be used there."
    )
    return "gguf", ""
