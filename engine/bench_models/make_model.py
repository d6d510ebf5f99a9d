"""Writes a random GGUF of a real model's layer shape: what benchmarks and tests run on."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from engine.bench_models.errors import BenchModelError
from engine.bench_models.gguf_writer import GgufWriter, atomic_file, file_bytes
from engine.bench_models.network import Network, dynamics_like
from engine.bench_models.plan import Plan
from engine.bench_models.routing import Calibration
from engine.bench_models.shapes import Shape, shape_like
from engine.bench_models.surrogate import CALIBRATION_STEPS, measure
from engine.bench_models.tensor_types import file_type_number
from engine.bench_models.vocabulary import byte_vocabulary, copy_vocabulary

# (stage, bytes done, of how many) -> go on?
Progress = Callable[[str, int, int], bool]

_PROGRESS_EVERY_S = 0.2


class MadeModel(msgspec.Struct, frozen=True, kw_only=True):
    """What was written."""

    path: Path
    shape: Shape
    type: str
    seed: int
    n_vocab: int
    file_bytes: int
    expert_bytes: list[int]  # distinct sizes of one expert (gate, up and down)
    experts_total_bytes: int
    seconds: float  # writing took
    calibration: Calibration | None  # None: not asked for


def make_model(
    path: Path,
    *,
    like: str = "qwen3-30b-a3b",
    n_layer: int | None = None,
    type: str = "q4_0",
    vocab: Path | None = None,
    seed: int = 0,
    overwrite: bool = False,
    calibration: bool = False,
    progress: Progress | None = None,
    **sizes: int,
) -> MadeModel:
    """Write a model with random weights, atomically: `path` is whole or untouched.

    `like` is a name of SHAPES, `type` one of FILE_TYPES, `vocab` a GGUF whose vocabulary is copied
    (else single bytes), `sizes` replace fields of the shape. Equal arguments give equal bytes.
    `calibration` measures afterwards how such a model routes (up to a minute). `progress`
    gets the stages "write" (bytes; False leaves no file) and "calibrate" (steps; False skips it).
    Raises BenchModelError.
    """
    started = time.monotonic()
    if n_layer is not None:
        sizes["n_layer"] = n_layer
    shape = shape_like(like, **sizes)
    file_type_number(type)
    if not 0 <= seed < 1 << 32:
        raise BenchModelError("invalid", f"seed is {seed}, not 0 to {(1 << 32) - 1}")
    if path.exists() and not overwrite:
        raise BenchModelError("exists", f"{path} exists already; remove it or choose another name")
    vocabulary = byte_vocabulary() if vocab is None else copy_vocabulary(vocab)
    network = Network(shape, dynamics_like(like), seed)
    plan = Plan(shape, type, vocabulary, network)
    metadata = plan.metadata() | vocabulary.metadata
    total = file_bytes(metadata, plan.tensors)
    with atomic_file(path, total) as file:
        writer = GgufWriter(file, metadata, plan.tensors)
        meter = _Meter(progress, "write", sum(t.n_bytes for t in plan.tensors))
        for tensor in plan.tensors:
            writer.write(tensor.name, plan.chunks(tensor), meter.advance)
    seconds = time.monotonic() - started
    measured = None
    if calibration:
        measured = _measured(network, progress)
    expert_bytes = plan.expert_bytes()
    return MadeModel(
        path=path,
        shape=shape,
        type=type,
        seed=seed,
        n_vocab=vocabulary.n_vocab,
        file_bytes=total,
        expert_bytes=sorted(set(expert_bytes)),
        experts_total_bytes=sum(expert_bytes) * shape.n_expert,
        seconds=seconds,
        calibration=measured,
    )


def _measured(network: Network, progress: Progress | None) -> Calibration | None:
    try:
        return measure(network, _Meter(progress, "calibrate", CALIBRATION_STEPS).advance)
    except BenchModelError as e:
        if e.code == "cancelled":
            return None
        raise


class _Meter:
    """Tells how far a stage is, a few times a second, and stops it when asked to."""

    def __init__(self, progress: Progress | None, stage: str, total: int) -> None:
        self._progress = progress
        self._stage = stage
        self._total = total
        self._done = 0
        self._told_at = float("-inf")

    def advance(self, n: int) -> None:
        self._done += n
        now = time.monotonic()
        if self._progress is None or (
            self._done < self._total and now - self._told_at < _PROGRESS_EVERY_S
        ):
            return
        self._told_at = now
        if not self._progress(self._stage, self._done, self._total):
            raise BenchModelError("cancelled", f"cancelled ({self._stage})")
