"""Measures Runahead against llama.cpp itself, larger than memory: the same GGUF, memory, threads.

For every case of requests and cache size:
1. Runahead runs once under a wide limit. What it takes is the budget; its prompts and the tokens
   that it samples are what llama.cpp is fed, so that both sides see the same routing.
2. llama.cpp runs briefly in several configurations within the budget; the fastest is the rival.
3. Rounds alternate between the two, both within the budget, each run in a process of its own that
   begins with nothing of the model in the page cache. The result is the median of the ratios
   within a round.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from engine import errors, sizes
from engine.cache_size import CacheSize
from engine.model_info import ModelInfo
from engine.options import Store
from engine.rival import page_cache
from engine.rival.cgroup_home import Home
from engine.rival.fastest_config import MOST_TRIES, fastest
from engine.rival.jobs import Job, LlamaConfig, LlamaJob, OursJob, Work
from engine.rival.limited_run import Limited, RunFailedError, run_limited
from engine.rival.memory_limit import available_bytes
from engine.rival.read_ahead import read_ahead_kb, set_read_ahead
from engine.rival.report import (
    OURS,
    THEIRS,
    RivalCase,
    RivalReport,
    RivalRun,
    RivalTrial,
    ratios_of,
)
from engine.versions import machine, versions

# Over what Runahead was seen to take: huge pages do not come out the same in every run.
_MARGIN, _MARGIN_BYTES = 1.02, 16 << 20
_MIB = 1 << 20
_START_S = 10.0  # of a process, at most, before it does anything
_KV_BUCKET = 256  # llama.cpp rounds a context up to this


class RivalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured. Raises InvalidRequestError.

    Attributes:
        budget_bytes: The limit; 0: what Runahead takes.
        read_aheads: In KiB; tried for llama.cpp beside the disk's own.
        timeout_s: Of one run; then its process is killed.
    """

    requests: tuple[int, ...] = (2, 4, 8)
    caches: tuple[CacheSize, ...] = (CacheSize(fraction=0.3),)
    policy: str = "bevy"
    warm_up: int = 16
    steps: int = 48
    rounds: int = 3
    workload: str = "short"
    prompt_tokens: int = 64
    seed: int = 0
    budget_bytes: int = 0
    read_aheads: tuple[int, ...] = ()
    timeout_s: float = 900.0

    def __post_init__(self) -> None:
        for name, low in (("warm_up", 0), ("steps", 1), ("rounds", 1), ("prompt_tokens", 1)):
            if getattr(self, name) < low:
                raise errors.InvalidRequestError(f"{name} is {getattr(self, name)}, under {low}")

    @property
    def cases(self) -> list[tuple[int, CacheSize]]:
        """Requests and their cache, in the order in which they are measured."""
        return [(n, cache) for cache in self.caches for n in self.requests]

    @property
    def most_runs(self) -> int:
        """Of all cases, trials included."""
        n_tries = MOST_TRIES + len(self.read_aheads)
        return len(self.cases) * (1 + n_tries + 2 * self.rounds)


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """How Runahead opens the model; its pack is there already."""

    model: ModelInfo
    store: Store
    pack_path: str
    n_threads: int
    n_readers: int


OnProgress = Callable[[int, str], None]  # (runs begun, what runs now)
OnReport = Callable[[RivalReport], None]  # after every run


class Rivalry:
    """One comparison on this machine."""

    def __init__(
        self,
        home: Home,
        opened: Opened,
        plan: RivalPlan,
        on_progress: OnProgress = lambda *_: None,
        on_report: OnReport = lambda _: None,
    ):
        self._home, self._opened, self._plan = home, opened, plan
        self._on_progress, self._on_report = on_progress, on_report
        self._n_runs = 0
        self.report = RivalReport(
            model=opened.model.title,
            model_bytes=opened.model.file_bytes,
            machine=machine(),
            versions=versions(),
            policy=plan.policy,
            store=opened.store,
            n_threads=opened.n_threads,
            n_readers=opened.n_readers,
            workload=plan.workload,
            prompt_tokens=plan.prompt_tokens,
            warm_up=plan.warm_up,
            steps=plan.steps,
            rounds=plan.rounds,
            read_ahead_kb=read_ahead_kb(Path(opened.model.path)),
        )

    def run(self) -> RivalReport:
        """Measure everything. Raises EngineError; what was measured before is in `report`."""
        for n, cache in self._plan.cases:
            self._case(n, cache)
        return self.report

    def _case(self, n: int, cache: CacheSize) -> None:
        plan, report = self._plan, self.report
        ours = self._ours_job(n, cache)
        label = f"{n} requests, cache {cache}"
        sized = self._run(ours, int(0.9 * available_bytes()), f"{label}: what Runahead takes")
        measured = sized.measured
        budget = plan.budget_bytes or _budget(sized.used_bytes)
        fraction = measured.cache_bytes / max(1, self._opened.model.experts_total_bytes)
        case = RivalCase(
            requests=n,
            cache_fraction=cache.fraction or fraction,
            resident_bytes=measured.resident_bytes,
            cache_bytes=measured.cache_bytes,
            used_bytes=sized.used_bytes,
            budget_bytes=budget,
        )
        report.device = measured.device
        theirs = LlamaJob(
            work=ours.work,
            config=LlamaConfig(),
            prompts=measured.prompts,
            streams=measured.streams,
        )
        config = self._fastest(theirs, case, label)
        theirs = msgspec.structs.replace(theirs, config=config)
        report.cases.append(msgspec.structs.replace(case, llama_config=str(config)))
        sides: tuple[tuple[str, Job], ...] = ((OURS, ours), (THEIRS, theirs))
        for round_ in range(plan.rounds):
            for side, job in sides if round_ % 2 else reversed(sides):
                found = self._run(job, budget, f"{label}, round {round_ + 1}: {side}")
                if side == OURS and found.measured.streams != measured.streams:
                    report.streams_agree = False
                report.runs.append(_row(side, case, round_, found))
                report.ratios = ratios_of(report.runs)
                self._on_report(report)

    def _fastest(self, job: LlamaJob, case: RivalCase, label: str) -> LlamaConfig:
        work = msgspec.structs.replace(job.work, steps=max(4, job.work.steps // 4))
        timeout_s = self._plan.timeout_s

        def try_config(config: LlamaConfig) -> float | None:
            nonlocal timeout_s
            brief = msgspec.structs.replace(job, work=work, config=config)
            speed, reason, begin = 0.0, "", time.monotonic()
            try:
                found = self._run(
                    brief, case.budget_bytes, f"{label}: llama.cpp, {config}", timeout_s
                )
                speed = found.measured.tokens_per_s
                # One that takes three times as long as another cannot be the fastest.
                timeout_s = min(timeout_s, _START_S + 3 * (time.monotonic() - begin))
            except RunFailedError as error:
                reason = error.message
            self.report.trials.append(
                RivalTrial(
                    requests=case.requests,
                    cache_fraction=case.cache_fraction,
                    config=str(config),
                    tokens_per_s=speed,
                    reason=reason,
                )
            )
            self._on_report(self.report)
            return speed or None

        fits = self._opened.model.file_bytes < case.budget_bytes
        config = fastest(try_config, fits=fits, read_aheads=self._plan.read_aheads)
        if config is None:
            raise errors.EngineError(
                f"llama.cpp runs in no configuration within {sizes.show(case.budget_bytes)}:"
                f" {self.report.trials[-1].reason}"
            )
        return config

    def _run(self, job: Job, limit_bytes: int, label: str, timeout_s: float = 0) -> Limited:
        self._on_progress(self._n_runs, label)
        self._n_runs += 1
        page_cache.drop(self._files())
        kb = job.config.read_ahead_kb if isinstance(job, LlamaJob) else 0
        try:
            with set_read_ahead(Path(self._opened.model.path), kb):
                return run_limited(job, self._home, limit_bytes, timeout_s or self._plan.timeout_s)
        except RunFailedError as error:
            raise RunFailedError(f"{label}: {error.message}", error.hint) from error

    def _files(self) -> Iterator[str]:
        yield from (part.path for part in self._opened.model.files)
        if self._opened.pack_path:
            yield self._opened.pack_path

    def _ours_job(self, n: int, cache: CacheSize) -> OursJob:
        plan, opened = self._plan, self._opened
        job = OursJob(
            work=Work(
                model=opened.model.path,
                n_requests=n,
                n_threads=opened.n_threads,
                context=0,
                warm_up=plan.warm_up,
                steps=plan.steps,
            ),
            store=opened.store,
            pack_path=opened.pack_path,
            cache=cache,
            policy=plan.policy,
            n_readers=opened.n_readers,
            workload=plan.workload,
            prompt_tokens=plan.prompt_tokens,
            seed=plan.seed,
        )
        context = -(-(plan.prompt_tokens + job.n_steps + 1) // _KV_BUCKET) * _KV_BUCKET
        work = msgspec.structs.replace(job.work, context=context)
        return msgspec.structs.replace(job, work=work)


def _budget(used_bytes: int) -> int:
    return -(-int(_MARGIN * used_bytes + _MARGIN_BYTES) // _MIB) * _MIB


def _row(side: str, case: RivalCase, round_: int, found: Limited) -> RivalRun:
    measured = found.measured
    return RivalRun(
        side=side,
        requests=case.requests,
        cache_fraction=case.cache_fraction,
        round=round_,
        tokens_per_s=measured.tokens_per_s,
        step_ms=1e3 * case.requests / measured.tokens_per_s,
        steps=measured.steps,
        read_bytes=measured.read_bytes,
        major_faults=measured.major_faults,
        own_bytes=found.own_bytes,
        peak_bytes=found.peak_bytes,
    )
