"""Where an engine reads its experts from: decided when a model is opened."""

from pathlib import Path

from engine import errors, native
from engine.model_info import ModelInfo
from engine.options import EngineOptions, Store
from engine.pack import build_pack, check_folder, pack_path, why_unusable


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
    in_place = "so the model file is read in place, which is slower"
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
                f" ({error.strerror}), {in_place}."
            )
            return "gguf", ""
        notices.append(f"The expert pack is built again: {reason}.")
    try:
        check_folder(path)
    except errors.StorageError as error:
        if options.pack_path:
            raise
        notices.append(f"No expert pack can be built, {in_place}. {error.message}.")
        return "gguf", ""
    try:
        build_pack(model, path, progress=progress)
    except errors.OutOfSpaceError as error:
        reason = error.message.rstrip(".")
        notices.append(f"The disk is too small for an expert pack, {in_place}. {reason}.")
        return "gguf", ""
    return "pack", str(path)
