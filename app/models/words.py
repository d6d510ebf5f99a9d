"""What models, packs and answers about memory are called in the window."""

from typing import Literal

import msgspec

from app.durations import duration
from app.language import tr
from app.models.fit import Fit
from app.models.known_model import KnownModel
from app.models.model_state import ModelState
from app.models.packing import PackProgress
from engine import sizes
from engine.engine_state import EngineState

Role = Literal["muted", "accent", "success", "warning", "danger"]

STAGES = {
    "": "Starting the engine",
    "verify": "Checking the expert pack",
    "pack": "Building the expert pack",
    "weights": "Reading weights",
    "experts": "Reading experts",
}


class Badge(msgspec.Struct, frozen=True):
    """The one thing about a model that a person wants to see at once."""

    text: str
    role: Role


def family_line(model: KnownModel) -> str:
    """For example "qwen3moe · Q4_K · 18.6 GB"."""
    parts = (model.info.architecture, model.quantisation, sizes.show(model.info.file_bytes))
    return " · ".join(part for part in parts if part)


def shape_line(model: KnownModel) -> str:
    """For example "48 layers · 128 experts, 8 used"."""
    info = model.info
    if info.n_expert == 0:
        return tr("{layers} layers · no experts", layers=info.n_layer)
    return tr(
        "{layers} layers · {experts} experts, {used} used",
        layers=info.n_layer,
        experts=info.n_expert,
        used=info.n_expert_used,
    )


def badge(
    model: KnownModel, state: ModelState, engine: EngineState, packing: PackProgress | None
) -> Badge | None:
    """None when there is nothing to say."""
    if is_open(model, engine):
        if engine.phase == "ready":
            return Badge(tr("Loaded"), "success")
        if engine.phase in ("starting", "loading"):
            share = f" {engine.done / engine.total:.0%}" if engine.total else ""
            return Badge(tr("Loading") + share, "accent")
    if packing:
        share = f" {packing.done / packing.total:.0%}" if packing.total else ""
        return Badge(tr("Packing") + share, "accent")
    if state.missing:
        return Badge(tr("Missing"), "danger")
    if not model.info.supported:
        return Badge(tr("Cannot run"), "danger")
    if state.pack.kind == "ready":
        return Badge(tr("Packed"), "muted")
    if state.pack.kind == "stale":
        return Badge(tr("Pack is stale"), "warning")
    return None


def is_open(model: KnownModel, engine: EngineState) -> bool:
    """True when the engine has this model open, opens it, or failed to."""
    return engine.model is not None and engine.model.path == model.info.path


def stage_name(engine: EngineState) -> str:
    """What loading is busy with."""
    return tr(STAGES.get(engine.stage, engine.stage))


def stage_text(engine: EngineState) -> str:
    """The same, with how far it is where that is a size."""
    text = stage_name(engine)
    if engine.stage and engine.total > 1 << 20:
        return f"{text}: {sizes.show(engine.done)} / {sizes.show(engine.total)}"
    return text


def pack_progress_text(progress: PackProgress) -> str:
    """For example "1.2 GB / 4 GB · 800 MB/s · 4 s left"."""
    if not progress.total:
        return tr("Looking at the disk")
    text = f"{sizes.show(progress.done)} / {sizes.show(progress.total)}"
    if progress.per_s is not None and progress.left_s is not None:
        text += f" · {sizes.show(progress.per_s)}/s · "
        text += tr("{time} left", time=duration(progress.left_s))
    return text


def verdict(fit: Fit) -> Badge:
    """The answer in a word or two."""
    if fit.verdict == "fits":
        return Badge(tr("Fits"), "success")
    if fit.verdict == "tight":
        return Badge(tr("Tight"), "warning")
    return Badge(tr("Does not fit"), "danger")


def explanation(fit: Fit, n_requests: int) -> str:
    """The answer in sentences: what it means, and what would be better."""
    start, full = sizes.show(fit.needs.at_start), sizes.show(fit.needs.in_full)
    free = sizes.show(fit.available)
    smallest = fit.needs.cache <= fit.minimum
    if fit.verdict == "over":
        text = tr(
            "Loading takes {start}, {lacking} more than the {free} that are available: the computer"
            " would swap, or the system would end the engine.",
            start=start,
            lacking=sizes.show(fit.lacking),
            free=free,
        )
        advice = (
            tr("Even the smallest cache does not help: close other programs first.")
            if smallest
            else tr("Choose a smaller cache, or close other programs.")
        )
        return f"{text} {advice}"
    if fit.verdict == "tight":
        text = tr(
            "Loading takes {start} of the {free} that are available. When {n} chats fill their"
            " context it becomes {full}, and too little would be left for the system.",
            start=start,
            free=free,
            n=n_requests,
            full=full,
        )
        advice = (
            tr("Fewer chats at once or a shorter context would leave room.")
            if smallest or fit.recommended >= fit.needs.cache
            else tr("A smaller cache, fewer chats at once or a shorter context would leave room.")
        )
        return f"{text} {advice}"
    if not fit.needs.kv_known:
        return tr(
            "Loading takes {start} of the {free} that are available. What chats take is not known:"
            " the file does not say it.",
            start=start,
            free=free,
        )
    return tr(
        "Loading takes {start} of the {free} that are available, and {full} when {n} chats fill"
        " their context.",
        start=start,
        free=free,
        full=full,
        n=n_requests,
    )
