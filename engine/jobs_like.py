"""JobRunnerLike: work on model files elsewhere; JobRunner does it, and fakes of it in tests."""

from pathlib import Path
from typing import Protocol

from engine.job_events import JobEvent, JobId


class JobRunnerLike(Protocol):
    """Several jobs at once; used from one thread; no call but close() waits for anything."""

    def inspect(self, path: Path) -> JobId:
        """What a model file holds: JobDone with ModelInfo."""

    def pack(self, path: Path, pack_path: Path | None = None) -> JobId:
        """Build a model's expert pack (in its usual place): JobProgress, JobDone with PackFile."""

    def cancel(self, job: JobId) -> None:
        """Stop a job soon; JobFailed(cancelled=True) follows. Ended ones are ignored."""

    def poll(self) -> list[JobEvent]:
        """Everything since the last call, in order."""

    def close(self) -> None:
        """End all jobs and wait until they are gone, a second at most; safe twice."""
