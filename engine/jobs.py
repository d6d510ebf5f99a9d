"""JobRunner: work on model files, each job in a process of its own.

So a file that crashes whatever reads it ends a job and nothing else, and a job can always be ended.
"""

import itertools
from pathlib import Path
from typing import assert_never

from engine.job_events import JobDone, JobEvent, JobFailed, JobId, JobProgress
from engine.jobs_like import JobRunnerLike
from engine.process.child import Child, wait_until_gone
from engine.process.frames import UnsendableError
from engine.protocol import (
    Failed,
    Inspect,
    Inspected,
    Job,
    JobReport,
    Pack,
    Packed,
    Progress,
)

__all__ = [
    "JobDone",
    "JobEvent",
    "JobFailed",
    "JobId",
    "JobProgress",
    "JobRunner",
    "JobRunnerLike",
]

HOST = "engine.job_host"
# Of one kind at a time; more wait. Packs keep a disk busy for long.
_MOST: dict[type[Job], int] = {Inspect: 2, Pack: 1}
_MEMORY_HINT = "Close other programs, and try again."
_FILE_HINT = "The file may be damaged or incomplete: download it again, or choose another."


class _Task:
    """A job from its beginning to its last event."""

    def __init__(self, job: JobId, command: Job):
        self.job = job
        self.command = command
        self.child: Child | None = None
        self.cancelled = False

    def crashed(self, child: Child) -> JobFailed:
        """REQUIRES: the child said nothing of the job's end, and will not."""
        if self.cancelled:
            return JobFailed(self.job, "Cancelled", cancelled=True)
        what = "Packing the model" if isinstance(self.command, Pack) else "Reading the model file"
        hint = _MEMORY_HINT if child.ran_out_of_memory else _FILE_HINT
        return JobFailed(
            self.job, f"{what} failed ({self.command.path}): {child.why_it_died()}", hint
        )


class JobRunner:
    """Has no thread: whatever happens, happens in a call, so poll() has to be called often.

    To be used from one thread, which must live as long as the jobs: Linux ends a process when the
    thread that started it ends.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._waiting: list[_Task] = []
        self._running: list[_Task] = []
        self._ending: list[Child] = []
        self._events: list[JobEvent] = []

    def inspect(self, path: Path) -> JobId:
        """What a model file holds: JobDone with ModelInfo."""
        return self._add(Inspect(str(path)))

    def pack(self, path: Path, pack_path: Path | None = None) -> JobId:
        """Build a model's expert pack anew: JobProgress, JobDone with PackFile.

        In its usual place, or where `pack_path` says, unless something else lies there.
        """
        return self._add(Pack(str(path), str(pack_path or "")))

    def cancel(self, job: JobId) -> None:
        """Stop a job soon; JobFailed(cancelled=True) follows. Ended ones are ignored."""
        for task in [task for task in self._waiting if task.job == job]:
            self._waiting.remove(task)
            self._events.append(JobFailed(job, "Cancelled", cancelled=True))
        for task in self._running:
            if task.job == job and task.child is not None:
                task.cancelled = True
                task.child.stop()

    def poll(self) -> list[JobEvent]:
        """Everything since the last call, in order."""
        self._work()
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        """End all jobs and wait until they are gone, a second at most; safe twice."""
        for task in [*self._waiting, *self._running]:
            self.cancel(task.job)
        wait_until_gone([task.child for task in self._running if task.child is not None])
        self._work()
        wait_until_gone(self._ending)
        self._ending.clear()

    def _work(self) -> None:
        for task in list(self._running):
            if task.child is not None:
                self._listen(task, task.child)
        self._ending = [child for child in self._ending if not child.gone()]
        self._start_waiting()

    def _add(self, command: Job) -> JobId:
        task = _Task(JobId(next(self._numbers)), command)
        self._waiting.append(task)
        self._start_waiting()
        return task.job

    def _start_waiting(self) -> None:
        for task in list(self._waiting):
            kind = type(task.command)
            if sum(type(other.command) is kind for other in self._running) < _MOST[kind]:
                self._waiting.remove(task)
                self._start(task)

    def _start(self, task: _Task) -> None:
        try:
            task.child = Child(HOST, JobReport)
            self._running.append(task)
            task.child.channel.send(task.command)
        except OSError as error:
            message = f"A process could not be started: {error.strerror or error}"
            self._events.append(JobFailed(task.job, message, _MEMORY_HINT))
        except UnsendableError as error:
            message = f"The file's path could not be handed on: it {error}"
            self._end(task, JobFailed(task.job, message, "Give the file another name."))

    def _listen(self, task: _Task, child: Child) -> None:
        for report in child.channel.receive():
            match report:
                case Progress():
                    progress = JobProgress(task.job, report.stage, report.done, report.total)
                    self._events.append(progress)
                    continue
                case Failed(cancelled=True):
                    self._end(task, JobFailed(task.job, "Cancelled", cancelled=True))
                case Failed():
                    self._end(task, JobFailed(task.job, report.message, report.hint))
                case Inspected():
                    self._end(task, JobDone(task.job, report.model))
                case Packed():
                    self._end(task, JobDone(task.job, report.pack))
                case _:
                    assert_never(report)
            return
        if child.died():  # without a word of its job's end
            self._end(task, task.crashed(child))
        elif task.cancelled:
            child.exited()  # kills it when it does not end

    def _end(self, task: _Task, event: JobEvent) -> None:
        self._running.remove(task)
        self._events.append(event)
        if task.child is not None:
            task.child.stop()
            self._ending.append(task.child)
