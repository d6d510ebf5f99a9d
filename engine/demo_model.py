"""The demo model: small, made up, and enough to see the engine at work with nothing downloaded."""

from pathlib import Path

from engine import errors, folders, native


def demo_model(progress: native.Progress | None = None) -> Path:
    """The demo model's file; made now (stage "write") unless it is there.

    Its weights are random, so its text is nonsense. Raises StorageError, OutOfSpaceError, or
    Cancelled when `progress` returned False; then nothing is left.
    """
    from engine.bench_models.errors import BenchModelError
    from engine.bench_models.make_model import make_model

    path = folders.models() / "demo.gguf"
    if path.exists():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A second to make, yet large enough that reading and computing both take time.
        make_model(
            path,
            like="tiny",
            n_layer=8,
            n_expert=32,
            n_embd=512,
            n_ff_exp=512,
            progress=progress,
        )
    except BenchModelError as error:
        raise errors.from_native(error.args) from error
    except OSError as error:
        raise errors.from_os(error, f"{path} cannot be made") from error
    return path
