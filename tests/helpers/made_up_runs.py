"""Run logs of runs that never happened, written by the writer of real ones."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from engine.options import EngineOptions
from engine.runlog.meta import RunMeta, RunModel
from engine.runlog.writer import RunLogWriter
from engine.versions import Machine
from tests.helpers.made_up_records import N_EXPERT, N_LAYER, N_USED, MadeUpRecords

EXPERTS_BYTES = 4_076_863_488


def made_up_run(
    runs: Path,
    *,
    title: str = "Made up 30B",
    n_steps: int = 12,
    n_requests: int = 3,
    started: str = "2026-11-29T12:00:00.000+00:00",
    seed: int = 0,
    ended: bool = True,
    marks: tuple[tuple[int, str], ...] = (),
    cache_bytes: int = EXPERTS_BYTES * 3 // 10,
    **options: Any,
) -> Path:
    """Write a run log; its folder. `ended`: else as if the engine had been killed."""
    writer = writer_of(runs, title=title, started=started, cache_bytes=cache_bytes, options=options)
    made_up = MadeUpRecords(seed)
    for _ in range(n_steps):
        writer.append(made_up.next_step(list(range(n_requests))))
    for step, text in marks:
        writer.mark(step, text)
    if ended:
        writer.close()
    else:
        writer._close_chunk()
        writer._lock.close()
    return writer.folder


def writer_of(
    runs: Path,
    *,
    title: str = "Made up 30B",
    started: str = "2026-11-29T12:00:00.000+00:00",
    cache_bytes: int = EXPERTS_BYTES * 3 // 10,
    options: dict[str, Any] | None = None,
    **sizes: int,
) -> RunLogWriter:
    """A log that is being written."""
    meta = RunMeta(
        started=started,
        model=RunModel(
            title,
            "made-up.gguf",
            "qwen3moe",
            "12ab34cd12ab34cd",
            N_LAYER,
            N_EXPERT,
            N_USED,
            EXPERTS_BYTES,
        ),
        options=msgspec.to_builtins(EngineOptions(**(options or {}))),
        store="pack",
        device="CPU",
        cache_bytes=cache_bytes,
        machine=Machine("Linux", "6.1", "x86_64", "A processor", 8, 16 << 30),
        versions={"runahead": "0.1.0"},
    )
    return RunLogWriter(meta, runs, keep_runs=10**6, keep_runs_bytes=2**62, **sizes)


def all_records(runs: Path, n_steps: int, seed: int = 0) -> "np.ndarray[Any, Any]":
    """What made_up_run(n_steps=n_steps, seed=seed) wrote, with three requests."""
    made_up = MadeUpRecords(seed)
    return np.concatenate([made_up.next_step([0, 1, 2]) for _ in range(n_steps)])
