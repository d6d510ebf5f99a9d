"""What JobRunner.poll() reports."""

from typing import NewType

import msgspec

from engine.model_info import ModelInfo
from engine.pack import PackFile

JobId = NewType("JobId", int)


class JobProgress(msgspec.Struct, frozen=True):
    """`done` of `total` (bytes or items; 0 where nobody knows) of one stage of the job.

    Stages are "verify" and "pack" of a pack, "write" of a made model.
    """

    job: JobId
    stage: str
    done: int
    total: int


class JobDone(msgspec.Struct, frozen=True):
    """The job's result: ModelInfo of inspect, PackFile of pack."""

    job: JobId
    result: ModelInfo | PackFile


class JobFailed(msgspec.Struct, frozen=True):
    """What happened and what to try (may be ""); `cancelled` when that was asked for."""

    job: JobId
    message: str
    hint: str = ""
    cancelled: bool = False


JobEvent = JobProgress | JobDone | JobFailed
