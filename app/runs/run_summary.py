"""RunSummary: one line of the list of runs."""

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from engine import errors, metrics, sizes
from engine.link_speed import LinkSpeed
from engine.metrics import Steps, Summary
from engine.runlog.meta import Mark, RunMeta
from engine.runlog.prune import is_running
from engine.runlog.reader import RunLog

_MOST_TITLE = 200  # characters
State = Literal["running", "finished", "crashed", "damaged"]


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Of one run.

    Attributes:
        folder: Its run log.
        state: "crashed": it has no end, and nobody writes it any more; "damaged": `error` says why
            it cannot be read.
        meta: What it was; None when it is damaged.
        started: Seconds since 1970.
        seconds: From its start to its end, or to the last record.
        n_bytes: Of its folder.
        figures: Means over its steps; None until they have been read.
        requests: The median of requests per step.
        marks: Changes while it ran.
    """

    folder: Path
    state: State
    error: str = ""
    meta: RunMeta | None = None
    started: float = 0.0
    seconds: float = 0.0
    n_bytes: int = 0
    figures: Summary | None = None
    decode_per_s: float = 0.0
    requests: float = 0.0
    marks: tuple[Mark, ...] = ()

    @property
    def name(self) -> str:
        """The folder's name: the key of a run."""
        return self.folder.name

    @property
    def title(self) -> str:
        """The model's, as far as anybody reads."""
        return self.meta.model.title[:_MOST_TITLE] if self.meta else self.name

    @property
    def policy(self) -> str:
        """As the run began."""
        return str(self.option("policy", ""))

    @property
    def link(self) -> LinkSpeed:
        """As the run began."""
        value = self.option("link", {})
        return LinkSpeed(_whole(value.get("bytes_per_s")) if isinstance(value, dict) else 0)

    @property
    def cache_share(self) -> float:
        """Of the bytes of all experts."""
        if not self.meta:
            return 0.0
        return self.meta.cache_bytes / max(1, self.meta.model.experts_total_bytes)

    @property
    def cache_text(self) -> str:
        """For example "30 % · 1.2 GB"."""
        if not self.meta:
            return ""
        return f"{self.cache_share:.0%} · {sizes.show(self.meta.cache_bytes)}"

    def option(self, name: str, default: Any) -> Any:
        """An option that the engine was opened with."""
        return self.meta.options.get(name, default) if self.meta else default

    def number(self, name: str) -> int:
        """Such an option that is a whole number; 0 where it is none, as in a damaged log."""
        return _whole(self.option(name, 0))


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def read_summary(folder: Path) -> RunSummary:
    """What its small files say; figures come later. Never raises for a bad log."""
    n_bytes, last_written = _folder_size(folder)
    try:
        log = RunLog(folder)
        marks = tuple(log.marks())
    except (errors.EngineError, msgspec.MsgspecError, OSError, RecursionError) as error:
        return RunSummary(folder=folder, state="damaged", error=str(error), n_bytes=n_bytes)
    started = _seconds(log.meta.started)
    ended = _seconds(log.meta.ended) if log.meta.ended else last_written
    if log.meta.ended:
        state: State = "finished"
    else:
        state = "running" if is_running(folder) else "crashed"
    return RunSummary(
        folder=folder,
        state=state,
        meta=log.meta,
        started=started,
        seconds=max(0.0, ended - started),
        n_bytes=n_bytes,
        marks=marks,
    )


def with_steps(run: RunSummary, steps: Steps) -> RunSummary:
    """The summary with its figures."""
    figures = metrics.summarise(steps)
    requests = sorted(steps["requests"].tolist())
    return msgspec.structs.replace(
        run,
        figures=figures,
        decode_per_s=decode_speed(steps),
        requests=float(requests[len(requests) // 2]) if requests else 0.0,
    )


def decode_speed(steps: Steps) -> float:
    """Tokens per second of step time: pauses between requests and prefills do not count."""
    spent = float(steps["step_ms"].sum()) / 1e3
    return float(steps["requests"].sum()) / spent if spent > 0 else 0.0


def _folder_size(folder: Path) -> tuple[int, float]:
    """(bytes, when it was last written to)."""
    n_bytes, last = 0, 0.0
    try:
        for path in folder.iterdir():
            found = path.stat()
            n_bytes += found.st_size
            if path.suffix in (".bin", ".jsonl", ".json"):
                last = max(last, found.st_mtime)
    except OSError:
        pass  # deleted meanwhile
    return n_bytes, last


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
