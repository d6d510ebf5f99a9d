"""Training: worker processes of one thread each, which share parameters and go in step.

One thread each, since on shared machines a product that is split over threads waits for the slowest
thread hundreds of times a second, while workers wait for each other twice a step. On the same kind
of CPU and PyTorch, what is learnt depends on the settings and the seed only; stopped and started
again, it goes on from its last checkpoint.
"""

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, multiprocessing

from recipe.model import Model, RouterLosses
from recipe.optimizer import Optimizer, Rates, SharedState
from recipe.rows import Rows
from recipe.shape import Shape
from recipe.tokenizer import load_tokenizer
from recipe.writer import reply_text

LATE_LOSSES = RouterLosses(balance=0.0004)
SAMPLE_PROMPTS = ("What are you?", "Where do owls live?", "How can I sleep better?")


@dataclass(frozen=True)
class Settings:
    """How long, how much at once, and how the learning rate moves: up, constant, down to 0.

    The first steps read short rows, which cost less attention; the others long ones. And in the
    first steps the routers are held to balance, so that every expert learns something; in the
    others much less, so that topics may prefer experts.
    """

    n_step: int = 6500
    batch_tokens: int = 6144
    micro_tokens: int = 3072
    short_share: float = 0.4
    balanced_share: float = 0.35
    warm_steps: int = 20
    decay_share: float = 0.4
    n_worker: int = 2
    seed: int = 1
    checkpoint_s: float = 180.0
    sample_steps: int = 100

    @property
    def n_short_step(self) -> int:
        """How many steps read short rows."""
        return int(self.short_share * self.n_step)

    def router_losses(self, step: int) -> RouterLosses:
        """The weights of the routers' losses, at `step` (from 0)."""
        return RouterLosses() if step < self.balanced_share * self.n_step else LATE_LOSSES

    def scale(self, step: int) -> float:
        """Of the learning rates, at `step` (from 0)."""
        left = (self.n_step - step) / (self.decay_share * self.n_step)
        return min(1.0, (step + 1) / self.warm_steps, left)


def train(folder: Path, settings: Settings) -> Path:
    """Train on the rows in `folder`, and return the file with the final parameters.

    Beside it, settings.json says how it was trained. Raises RuntimeError when a worker dies.
    """
    torch.manual_seed(settings.seed)
    state = SharedState(Model(Shape()), settings.n_worker)
    first_step = _resume(folder / "checkpoint.pt", state)
    report = torch.zeros(settings.n_worker, _REPORT_COLUMNS).share_memory_()
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(settings.n_worker)
    workers = [
        context.Process(
            target=_work, args=(rank, folder, settings, state, report, barrier, first_step)
        )
        for rank in range(settings.n_worker)
    ]
    for worker in workers:
        worker.start()
    waiting = {worker.sentinel: worker for worker in workers}
    while waiting:
        for sentinel in connection.wait(list(waiting)):
            worker = waiting.pop(sentinel)
            worker.join()  # its sentinel is ready a little before its exit code
            if worker.exitcode != 0:
                for other in waiting.values():
                    other.terminate()
                raise RuntimeError("a training worker died; started again, training goes on")
    about = json.dumps(_about(settings)) + "\n"
    (folder / "settings.json").write_text(about, encoding="utf-8")
    return _save(folder / "final.pt", state, settings.n_step)


def _about(settings: Settings) -> dict[str, float]:
    """What the card says about the training."""
    return {
        "n_step": settings.n_step,
        "batch_tokens": settings.batch_tokens,
        "decay_share": settings.decay_share,
        "balance": RouterLosses().balance,
        "late_balance": LATE_LOSSES.balance,
        "balanced_share": settings.balanced_share,
    }


def _work(
    rank: int,
    folder: Path,
    settings: Settings,
    state: SharedState,
    report: Tensor,
    barrier: Barrier,
    first_step: int,
) -> None:
    """All steps, as worker `rank`; worker 0 also saves and logs."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    model = Model(Shape())
    state.attach(model, rank)
    optimizer = Optimizer(model, state, rank, Rates())
    batches = _Batches(folder, settings)
    log = _Log(folder, settings, model) if rank == 0 else None
    saved = time.monotonic()
    for step in range(first_step, settings.n_step):
        state.gradients[rank].zero_()
        report[rank] = 0
        model.weigh = settings.router_losses(step)
        _add_gradients(model, batches.of_step(step, rank), settings, report[rank])
        barrier.wait()
        optimizer.step(step + 1, settings.scale(step))
        if log is not None:
            log.add(step, report.sum(0))
        barrier.wait()
        # The others cannot change a parameter before this worker has its gradients.
        if log is not None and time.monotonic() - saved > settings.checkpoint_s:
            _save(folder / "checkpoint.pt", state, step + 1)
            saved = time.monotonic()


def _add_gradients(model: Model, batch: "_Batch", settings: Settings, report: Tensor) -> None:
    """Backward over a worker's share of a step; its gradients average to those of the step."""
    n_row = max(1, settings.micro_tokens // (batch.tokens.shape[1] - 1))
    n_micro = -(-len(batch.tokens) // n_row)
    for rows, weights in zip(batch.tokens.split(n_row), batch.weights.split(n_row), strict=True):
        loss, extra, counts = model.losses(rows, weights)
        share = settings.n_worker * loss / batch.step_weight
        (share + extra / n_micro).backward()
        report[0] += loss.detach()
        report[1] += weights[:, 1:].sum()
        report[2] += rows[:, 1:].numel()
        report[3:] += counts.flatten()


_REPORT_COLUMNS = 3 + Shape().n_layer * Shape().n_expert


@dataclass(frozen=True)
class _Batch:
    """A worker's rows of a step, and the sum of the weights of all rows of the step."""

    tokens: Tensor
    weights: Tensor
    step_weight: float


class _Batches:
    """Which rows a step reads: the next of its file, so that each row is read once."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._settings = settings
        self._n_short = settings.n_short_step
        self._short = Rows.load(folder / "short.npz")
        self._long = Rows.load(folder / "long.npz")

    def of_step(self, step: int, rank: int) -> _Batch:
        settings = self._settings
        is_short = step < self._n_short
        rows = self._short if is_short else self._long
        n_row = settings.batch_tokens // (rows.tokens.shape[1] - 1)
        at = step if is_short else step - self._n_short
        chosen = np.arange(at * n_row, (at + 1) * n_row)
        weights = rows.weights(chosen)
        mine = slice(rank, None, settings.n_worker)
        return _Batch(
            torch.from_numpy(rows.tokens[chosen[mine]].astype(np.int64)),
            torch.from_numpy(weights[mine]),
            float(weights[:, 1:].sum()),
        )


class _Log:
    """One JSON line per ten steps in train.jsonl, and replies now and then; progress is printed."""

    def __init__(self, folder: Path, settings: Settings, model: Model) -> None:
        self._path = folder / "train.jsonl"
        self._settings = settings
        self._model = model
        self._tokenizer = load_tokenizer(folder / "tokenizer.json")
        self._sum = torch.zeros(_REPORT_COLUMNS)
        self._since = time.monotonic()

    def add(self, step: int, report: Tensor) -> None:
        """Add a step's sums over all workers."""
        self._sum += report
        if (step + 1) % 10 and step + 1 != self._settings.n_step:
            return
        now = time.monotonic()
        loss, weight, n_token = self._sum[:3].tolist()
        shape = self._model.shape
        uses = self._sum[3:].view(shape.n_layer, shape.n_expert)
        shares = uses / uses.sum(1, keepdim=True)
        line: dict[str, object] = {
            "step": step + 1,
            "loss": round(loss / weight, 4),
            "tokens_per_s": round(n_token / (now - self._since)),
            "scale": round(self._settings.scale(step), 3),
            "effective_experts": [round(n, 1) for n in _effective(shares)],
            "time": time.strftime("%H:%M:%S"),
        }
        self._sum.zero_()
        if (step + 1) % self._settings.sample_steps == 0 or step + 1 == self._settings.n_step:
            line["samples"] = [
                reply_text(self._model, self._tokenizer, prompt) for prompt in SAMPLE_PROMPTS
            ]
        with self._path.open("a") as file:
            print(json.dumps(line), file=file)
        self._print_progress(step + 1, line["loss"], n_token / (now - self._since))
        self._since = time.monotonic()

    def _print_progress(self, n_done: int, loss: object, tokens_per_s: float) -> None:
        settings = self._settings
        left = (settings.n_step - n_done) * settings.batch_tokens / tokens_per_s
        print(
            f"Training: step {n_done} of {settings.n_step}, loss {loss}, "
            f"{tokens_per_s:,.0f} tokens/s, {left / 60:.0f} min left",
            flush=True,
        )


def _effective(shares: Tensor) -> Iterator[float]:
    """Per layer how many experts, equally used, would have the entropy that their use has."""
    for row in shares:
        yield float(torch.special.entr(row).sum().exp())


def _save(path: Path, state: SharedState, step: int) -> Path:
    partial = path.with_suffix(".partial")
    content = {"step": step, "values": state.values}
    if path.stem == "checkpoint":
        content |= {"first": state.first, "second": state.second}
    torch.save(content, partial)
    partial.replace(path)
    return path


def _resume(path: Path, state: SharedState) -> int:
    """Take over what the checkpoint holds; the step to go on with."""
    if not path.exists():
        return 0
    content = torch.load(path)
    for name in ("values", "first", "second"):
        getattr(state, name).copy_(content[name])
    step: int = content["step"]
    return step


def _end_with_parent() -> None:
    """A worker must not wait at the barrier for ever when the parent was killed."""
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def load_values(path: Path) -> Model:
    """The model with the parameters that were saved at `path`."""
    values = torch.load(path)["values"]
    model = Model(Shape())
    torch.nn.utils.vector_to_parameters(values, model.parameters())
    return model
