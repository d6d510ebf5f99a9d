"""EngineState: what an engine in another process is doing, as one value."""

from pathlib import Path
from typing import Literal, Self

import msgspec

from engine.engine_info import EngineInfo
from engine.model_info import ModelInfo
from engine.options import EngineOptions
from engine.recommended_sampling import RecommendedSampling

Phase = Literal["stopped", "starting", "loading", "ready", "failed"]


class ModelSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is worth telling of a model; only `path` and `title` are known before it was read."""

    path: str
    title: str
    architecture: str = ""
    experts_total_bytes: int = 0
    n_layer: int = 0
    n_expert: int = 0
    n_expert_used: int = 0
    sampling: RecommendedSampling = RecommendedSampling()

    @classmethod
    def unread(cls, path: Path) -> Self:
        """Of a file that nobody has looked into."""
        return cls(path=str(path), title=path.stem)

    @classmethod
    def of(cls, model: ModelInfo) -> Self:
        """Of a file that was read."""
        return cls(
            path=model.path,
            title=model.title,
            architecture=model.architecture,
            experts_total_bytes=model.experts_total_bytes,
            n_layer=model.n_layer,
            n_expert=model.n_expert,
            n_expert_used=model.n_expert_used,
            sampling=model.sampling,
        )


class EngineState(msgspec.Struct, frozen=True, kw_only=True):
    """One moment in the life of an engine's process.

    Attributes:
        model: What is open, is being opened or failed to open; None before the first load.
        info: What the open engine is; only when ready.
        options: As they were asked for.
        stage: While loading: "verify", "pack", "weights" or "experts"; "" before the first.
        done, total: How far the stage is, in bytes or items; total is 0 where nobody knows.
        reason, hint: When failed: what happened, and what to try (may be "").
        crashed: The process died (out of memory, a crash), as against a load that was refused.
    """

    phase: Phase = "stopped"
    model: ModelSummary | None = None
    info: EngineInfo | None = None
    options: EngineOptions | None = None
    stage: str = ""
    done: int = 0
    total: int = 0
    reason: str = ""
    hint: str = ""
    crashed: bool = False

    @property
    def sampling(self) -> RecommendedSampling:
        """What the model's file recommends; nothing, where there is no model."""
        return self.model.sampling if self.model is not None else RecommendedSampling()
