"""ModelInfo: what a GGUF file holds, read without loading it."""

from pathlib import Path

import msgspec

from engine import native
from engine.recommended_sampling import RecommendedSampling, recommended_sampling

_MOST_TITLE = 200  # characters


class ModelPart(msgspec.Struct, frozen=True):
    """One file of a model; split models have several."""

    path: str
    bytes: int


class ModelInfo(msgspec.Struct, frozen=True):
    """As engine._native.inspect gives it; `reason` says why a model is not supported.

    Attributes:
        experts_per_class: How many experts can take each other's slots, per class of equal ones;
            empty where it was not kept, then all count as equal.
        sampling: What its metadata recommend.
    """

    path: str
    files: list[ModelPart]
    architecture: str
    name: str
    supported: bool
    reason: str
    n_layer: int
    n_moe_layer: int
    n_embd: int
    n_expert: int
    n_expert_used: int
    context_length: int
    n_vocab: int
    expert_bytes: list[int]
    experts_total_bytes: int
    other_bytes: int
    types: dict[str, int]
    chat_template: str | None
    fingerprint: int
    metadata: list[tuple[str, str]]
    tensors: list[tuple[str, str, list[int], int]]
    experts_per_class: list[int] = []
    sampling: RecommendedSampling = RecommendedSampling()

    @property
    def title(self) -> str:
        """The model's own name, or the file's: one line, as far as anybody reads."""
        title = " ".join(self.name.split()) or Path(self.path).stem
        return title if len(title) <= _MOST_TITLE else title[:_MOST_TITLE] + "…"

    @property
    def file_bytes(self) -> int:
        """Bytes of all its files."""
        return sum(part.bytes for part in self.files)


def inspect_model(path: Path | str) -> ModelInfo:
    """Read a model's description. Raises ModelFileError, StorageError or InvalidRequestError."""
    readable = native.utf8(str(path), "The model's path", "Rename it.")
    with native.translated():
        found = native.inspect(readable)
    info = msgspec.convert(found, ModelInfo)
    return msgspec.structs.replace(info, sampling=recommended_sampling(info.metadata))
