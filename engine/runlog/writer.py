"""RunLogWriter: appends a run's records to its own folder, bounded in size.

    <runs>/20260131-120000-qwen3-30b-a3b/
        meta.json         RunMeta; written at the start and again at the end
        events-0000.bin   trace records, raw; the next file starts when one is full
        marks.jsonl       changes while running
        lock              held while the run goes on, so that nobody prunes it

A crash at any moment leaves a log that reads: records are appended whole, and a last partial one is
ignored. When the log is too large, its oldest file goes.
"""

import contextlib
import fcntl
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

from engine import folders
from engine.atomic_file import write_atomically
from engine.runlog.meta import Mark, RunMeta
from engine.runlog.prune import MAX_RUNS, MAX_TOTAL_BYTES, prune
from engine.trace import RECORD_DTYPE, Records

CHUNK_BYTES = 16 << 20
MAX_BYTES = 256 << 20


class RunLogWriter:
    """The log of one run.

    Not thread-safe: its owner calls it from one thread at a time. A full or vanished disk ends the
    log, not the run: `failure` then says why.
    """

    def __init__(
        self,
        meta: RunMeta,
        folder: Path | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        max_bytes: int = MAX_BYTES,
        keep_runs: int = MAX_RUNS,
        keep_runs_bytes: int = MAX_TOTAL_BYTES,
    ):
        self._meta = meta
        self._chunk_bytes = chunk_bytes
        self._max_chunks = max(2, max_bytes // chunk_bytes)
        self._chunk: IO[bytes] | None = None
        self._n_chunks = 0
        self._chunk_size = 0
        self.failure = ""
        runs = folder or folders.run_logs()
        runs.mkdir(parents=True, exist_ok=True)
        self.folder = _new_folder(runs, meta)
        self._lock = (self.folder / "lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self._write_meta()
        except BaseException:  # without meta.json nobody would know it for a log
            self._lock.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        with contextlib.suppress(OSError):  # this run's log can be written all the same
            prune(runs, keep_runs, keep_runs_bytes)

    def append(self, records: Records, dropped: int = 0) -> None:
        """Add records; `dropped` is how many were ever lost before they came here."""
        self._meta = msgspec.structs.replace(self._meta, dropped_records=dropped)
        if not len(records) or self.failure:
            return
        try:
            if self._chunk is None or self._chunk_size >= self._chunk_bytes:
                self._next_chunk()
            assert self._chunk is not None
            self._chunk.write(records.tobytes())
            self._chunk.flush()
            self._chunk_size += records.nbytes
        except OSError as error:
            self._fail(error)

    def mark(self, step: int, text: str) -> None:
        """Note a change that holds from the next step on."""
        if self.failure:
            return
        try:
            with (self.folder / "marks.jsonl").open("ab") as file:
                file.write(msgspec.json.encode(Mark(step, text)) + b"\n")
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """End the log; safe to call twice."""
        if self._lock.closed:
            return
        self._meta = msgspec.structs.replace(self._meta, ended=now_utc())
        try:  # also after a failure, else the run would look as if it had crashed
            self._write_meta()
        except OSError as error:
            self._fail(error)
        self._close_chunk()
        self._lock.close()

    def _next_chunk(self) -> None:
        self._close_chunk()
        self._chunk = self._chunk_path(self._n_chunks).open("xb")
        self._chunk_size = 0
        self._n_chunks += 1
        oldest = self._chunk_path(self._n_chunks - self._max_chunks - 1)
        if self._n_chunks > self._max_chunks and oldest.exists():
            n_records = oldest.stat().st_size // RECORD_DTYPE.itemsize
            oldest.unlink()
            left_out = self._meta.left_out_records + n_records
            self._meta = msgspec.structs.replace(self._meta, left_out_records=left_out)
            self._write_meta()

    def _chunk_path(self, n: int) -> Path:
        return self.folder / f"events-{n:04d}.bin"

    def _close_chunk(self) -> None:
        if self._chunk is not None:
            with contextlib.suppress(OSError):  # a full disk was reported when it was met
                self._chunk.close()
            self._chunk = None

    def _write_meta(self) -> None:
        write_atomically(self.folder / "meta.json", msgspec.json.encode(self._meta))

    def _fail(self, error: OSError) -> None:
        self.failure = error.strerror or str(error)
        self._close_chunk()


def now_utc() -> str:
    """The time, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _new_folder(runs: Path, meta: RunMeta) -> Path:
    words = re.sub(r"[^a-z0-9.]+", "-", meta.model.title.lower()).strip("-.")[:40] or "model"
    # UTC: their order is that of time, wherever the computer travels.
    base = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{words}"
    for n in range(1, 1000):
        folder = runs / (base if n == 1 else f"{base}-{n}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{runs / base} and a thousand like it exist")
