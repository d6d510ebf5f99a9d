"""Runs of the native engine for tests: a pack beside the model, requests to their end."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine._native import Engine, write_pack


def pack_of(model: Path) -> Path:
    """The expert pack of a model, written once beside it."""
    pack = model.with_suffix(".pack")
    if not pack.exists():
        write_pack(str(model), str(pack))
    return pack


def open_engine(model: Path, **options: Any) -> Engine:
    """An engine on `model`; by default reading its pack with all experts cached."""
    if options.get("store", "pack") == "pack":
        options["pack_path"] = str(pack_of(model))
    return Engine(str(model), **options)


@dataclass
class Reply:
    """What a request gave."""

    tokens: list[int] = field(default_factory=list)
    reason: str = ""
    detail: str = ""
    notices: list[str] = field(default_factory=list)


def finish(engine: Engine, requests: list[int], timeout_s: float = 120.0) -> dict[int, Reply]:
    """Polls until all `requests` have ended."""
    replies = {request: Reply() for request in requests}
    notices: list[str] = []
    while any(not reply.reason for reply in replies.values()):
        assert engine.wait(timeout_s), (
            f"nothing happened for {timeout_s} s: {engine.progress_table()}"
        )
        for request, kind, *rest in engine.poll():
            if kind == "token":
                replies[request].tokens.append(rest[0])
            elif kind == "end":
                replies[request].reason, replies[request].detail = rest
            elif kind == "notice":
                notices.append(rest[0])
    for reply in replies.values():
        reply.notices = notices
    return replies


def logits_of(engine: Engine, prompt: list[int], forced: list[int] = []) -> NDArray[np.float32]:  # noqa: B006
    """[len(prompt) + len(forced), n_vocab]: `prompt` prefilled, `forced` decoded one by one."""
    request = engine.submit(
        prompt, forced=forced, max_tokens=len(forced), keep_logits=True, ignore_end=True
    )
    reply = finish(engine, [request])[request]
    assert reply.reason == "length", reply.detail
    return engine.take_logits(request)


def text_tokens(n: int, seed: int = 0, n_vocab: int = 256) -> list[int]:
    """`n` random byte tokens."""
    return np.random.default_rng(seed).integers(32, min(n_vocab, 127), n).tolist()
