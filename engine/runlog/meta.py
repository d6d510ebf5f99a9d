"""RunMeta: what a run was: model, options, machine, versions."""

from typing import Any

import msgspec

from engine.versions import Machine


class RunModel(msgspec.Struct, frozen=True):
    """The model of a run; `file` is its name without its folder."""

    title: str
    file: str
    architecture: str
    fingerprint: str
    n_layer: int
    n_expert: int
    n_expert_used: int
    experts_total_bytes: int


class RunMeta(msgspec.Struct, frozen=True, kw_only=True):
    """The file meta.json of a run's folder.

    Attributes:
        started, ended: UTC, ISO 8601; `ended` is "" while it runs and after a crash.
        options: As the engine was opened.
        store, device, cache_bytes: What became of them.
        dropped_records: Lost because nobody drained the engine in time.
        left_out_records: Removed again, oldest first, to keep the log's size.
    """

    format: int = 1
    started: str
    ended: str = ""
    model: RunModel
    options: dict[str, Any]
    store: str
    device: str
    cache_bytes: int
    machine: Machine
    versions: dict[str, str]
    dropped_records: int = 0
    left_out_records: int = 0


class Mark(msgspec.Struct, frozen=True):
    """A change while running, a line of marks.jsonl: `text` holds from the step after `step` on."""

    step: int
    text: str
