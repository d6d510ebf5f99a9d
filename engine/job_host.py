"""`python -m engine.job_host FD`: one job on a model file, in a process of its own.

The main thread works; another waits for Stop. The process ends with its job, when the line does, or
with its parent; within a second, whatever it is doing.
"""

import socket
from pathlib import Path
from typing import assert_never

import msgspec

from engine import errors
from engine.model_info import inspect_model
from engine.pack import build_pack, pack_path, why_unusable
from engine.process import guard
from engine.process.commands import Commands
from engine.process.outbox import Outbox
from engine.protocol import (
    Failed,
    Inspect,
    Inspected,
    Job,
    JobCommand,
    JobReport,
    Pack,
    Packed,
    Progress,
)


class JobHost:
    """Does what its runner names first."""

    def __init__(self, sock: socket.socket):
        self._outbox = Outbox(sock)
        self._commands: Commands[Job] = Commands(sock, msgspec.msgpack.Decoder(JobCommand))

    def run(self) -> None:
        """The life of the process."""
        job = self._commands.first()
        if job is None:
            return
        report: JobReport
        try:
            report = self._do(job)
        except (errors.EngineError, OSError) as error:
            failed = errors.of(error)
            report = Failed(failed.message, failed.hint, isinstance(failed, errors.Cancelled))
        self._outbox.put(report)
        self._outbox.finish()

    def _do(self, job: Job) -> JobReport:
        match job:
            case Inspect():
                return Inspected(inspect_model(job.path))
            case Pack():
                return self._pack(job)
            case _:
                assert_never(job)

    def _pack(self, job: Pack) -> Packed:
        model = inspect_model(job.path)
        path = Path(job.pack_path) if job.pack_path else pack_path(model)
        if job.pack_path and path.exists() and (reason := why_unusable(path, model)):
            raise errors.ModelFileError(
                f"{path} is no pack of {model.title}: {reason}",
                "Choose another place, or delete that file first.",
            )
        return Packed(build_pack(model, path, progress=self._progress))

    def _progress(self, stage: str, done: int, total: int) -> bool:
        self._outbox.put(Progress(stage, done, total))
        self._outbox.flush()
        return not self._commands.stopping.is_set()


if __name__ == "__main__":
    guard.live(lambda sock: JobHost(sock).run())
