"""Starts the run log of an engine that has just opened."""

from pathlib import Path

import msgspec

from engine.engine_info import EngineInfo
from engine.model_info import ModelInfo
from engine.options import EngineOptions
from engine.runlog.meta import RunMeta, RunModel
from engine.runlog.writer import RunLogWriter, now_utc
from engine.versions import machine, versions


def start_run_log(
    model: ModelInfo, options: EngineOptions, info: EngineInfo
) -> tuple[RunLogWriter | None, str]:
    """The log, or None and why: a run goes on without one."""
    # Folders can name a person: only file names go in.
    shown = msgspec.to_builtins(options) | {"pack_path": Path(options.pack_path).name}
    meta = RunMeta(
        started=now_utc(),
        model=RunModel(
            title=model.title,
            file=Path(model.path).name,
            architecture=model.architecture,
            fingerprint=f"{model.fingerprint & (2**64 - 1):016x}",
            n_layer=model.n_layer,
            n_expert=model.n_expert,
            n_expert_used=model.n_expert_used,
            experts_total_bytes=model.experts_total_bytes,
        ),
        options=shown,
        store=info.store,
        device=info.device,
        cache_bytes=info.cache_bytes,
        machine=machine(),
        versions=versions(),
    )
    try:
        return RunLogWriter(
            meta, keep_runs=options.keep_runs, keep_runs_bytes=options.keep_runs_bytes
        ), ""
    except OSError as error:
        return None, f"{error.filename or 'its folder'}: {error.strerror or error}"
