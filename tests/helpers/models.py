"""Tiny models for tests, written once and kept for the session."""

import atexit
import tempfile
from functools import cache
from pathlib import Path

from engine.bench_models.make_model import make_model

FILE_TYPES = ("f32", "f16", "bf16", "q4_0", "q8_0", "q4_k_m", "q6_k", "iq4_nl", "mxfp4")


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="runahead-models-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@cache
def tiny_model(type: str = "q4_0", seed: int = 0, **sizes: int) -> Path:
    """A model like "tiny" (a few MB); `sizes` replace fields of its shape, e.g. n_layer=2."""
    name = "-".join([type, str(seed), *(f"{k}{v}" for k, v in sorted(sizes.items()))])
    path = _folder() / f"tiny-{name}.gguf"
    if not path.exists():
        make_model(path, like="tiny", type=type, seed=seed, **sizes)
    return path
