"""FakeJobs: JobRunner's interface, without processes. Time passes in poll() only."""

from pathlib import Path

from engine import folders
from engine.jobs import JobDone, JobFailed, JobId, JobProgress
from engine.model_info import ModelInfo, ModelPart
from engine.pack import PackFile
from tests.helpers.fake_client import EXPERTS_BYTES
from tests.helpers.made_up_records import N_EXPERT, N_LAYER, N_USED

TOTAL = 4  # of a job's progress


class FakeJobs:
    """Attributes:
    held: While True, nothing goes on.
    failures: What inspecting or packing fails with, by path: (message, hint).
    infos: What inspecting finds, by path; else `model_info(path)`.
    calls: What was called, as (name, arguments...).
    """

    def __init__(self) -> None:
        self.held = False
        self.failures: dict[str, tuple[str, str]] = {}
        self.infos: dict[str, ModelInfo] = {}
        self.calls: list[tuple[object, ...]] = []
        self.closed = False
        self._running: dict[JobId, tuple[str, str, str, int]] = {}  # kind, path, pack path, done
        self._events: list[JobProgress | JobDone | JobFailed] = []
        self._n_jobs = 0

    def inspect(self, path: Path) -> JobId:
        return self._start("inspect", str(path))

    def pack(self, path: Path, pack_path: Path | None = None) -> JobId:
        return self._start("pack", str(path), str(pack_path or folders.packs() / "fake.pack"))

    def cancel(self, job: JobId) -> None:
        self.calls.append(("cancel", job))
        if self._running.pop(job, None):
            self._events.append(JobFailed(job=job, message="Stopped", hint="", cancelled=True))

    def poll(self) -> list[JobProgress | JobDone | JobFailed]:
        if not self.held:
            for job in list(self._running):
                self._go_on(job)
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        self.closed = True
        self._running.clear()

    def _start(self, kind: str, path: str, pack_path: str = "") -> JobId:
        self._n_jobs += 1
        job = JobId(self._n_jobs)
        self.calls.append((kind, path))
        self._running[job] = (kind, path, pack_path, 0)
        return job

    def _go_on(self, job: JobId) -> None:
        kind, path, pack_path, done = self._running[job]
        if failure := self.failures.get(path):
            del self._running[job]
            message, hint = failure
            self._events.append(JobFailed(job=job, message=message, hint=hint, cancelled=False))
        elif kind != "inspect" and done < TOTAL:
            self._events.append(JobProgress(job=job, stage="write", done=done, total=TOTAL))
            self._running[job] = (kind, path, pack_path, done + 1)
        else:
            del self._running[job]
            self._events.append(JobDone(job=job, result=self._result(kind, path, pack_path)))

    def _result(self, kind: str, path: str, pack_path: str) -> ModelInfo | PackFile:
        if kind == "inspect":
            return self.infos.get(path) or model_info(Path(path))
        return PackFile(pack_path, EXPERTS_BYTES, N_LAYER * N_EXPERT, "repacked")


def model_info(path: Path, *, supported: bool = True, reason: str = "") -> ModelInfo:
    """What a made-up model file holds."""
    return ModelInfo(
        path=str(path),
        files=[ModelPart(str(path), EXPERTS_BYTES + (900 << 20))],
        architecture="qwen3moe",
        name=path.stem,
        supported=supported,
        reason=reason,
        n_layer=N_LAYER,
        n_moe_layer=N_LAYER,
        n_embd=2048,
        n_expert=N_EXPERT,
        n_expert_used=N_USED,
        context_length=40_960,
        n_vocab=151_936,
        expert_bytes=[EXPERTS_BYTES // N_LAYER // N_EXPERT] * N_LAYER,
        experts_total_bytes=EXPERTS_BYTES,
        other_bytes=900 << 20,
        types={"Q4_0": 200, "F32": 100},
        chat_template=None,
        fingerprint=sum(path.name.encode()),
        metadata=[("general.architecture", "qwen3moe"), ("general.name", path.stem)],
        tensors=[("token_embd.weight", "Q4_0", [2048, 151_936], 175_000_000)],
    )
