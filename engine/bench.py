"""Measures policies against each other on one open engine, in interleaved rounds.

Every policy gets the same prompts, seeds, cache, link and a cold cache; replies do not depend on
the policy, so all see the same routing, which is checked. What is measured is kept run by run, so
that a benchmark which was interrupted goes on where it stopped.
"""

from collections.abc import Callable, Sequence

import numpy as np

from engine.bench_plan import BenchCase as BenchCase
from engine.bench_plan import BenchPlan as BenchPlan
from engine.bench_report import BenchReport, BenchRun, ratios_of
from engine.bench_run import CaseRunner
from engine.engine import Engine
from engine.versions import machine, versions

# (steps done, of how many in all, what runs now); called between polls.
OnProgress = Callable[[int, int, str], None]
# A report of all runs so far; called after each run.
OnRun = Callable[[BenchReport], None]


class Bench:
    """One benchmark on an engine that nobody else uses meanwhile.

    `earlier` is what an interrupted benchmark of the same plan left (see bench_file): its runs are
    not made again.
    """

    def __init__(
        self,
        engine: Engine,
        plan: BenchPlan,
        on_progress: OnProgress = lambda *_: None,
        *,
        on_run: OnRun = lambda _: None,
        earlier: BenchReport | None = None,
    ):
        self._engine = engine
        self._plan = plan
        self._on_progress = on_progress
        self._on_run = on_run
        self._runner = CaseRunner(
            engine,
            max(plan.requests),
            plan.steps,
            plan.prompt_tokens,
            plan.seed,
            workload=plan.workload,
        )
        self._runs: list[BenchRun] = list(earlier.runs) if earlier else []
        self._first_streams = list(earlier.first_streams) if earlier else []
        self._differences = list(earlier.differences) if earlier else []

    def run(self) -> BenchReport:
        """Measure what is missing.

        Raises InvalidRequestError before anything runs when the engine refuses a policy, and
        EngineError when a request fails or steps are too few; report() still has what was measured.
        """
        plan = self._plan
        for policy in plan.policies:
            self._runner.try_policy(policy)
        total = self._engine.info.experts_total_bytes
        known = {run.key for run in self._runs}
        for case in plan.cases():
            cache = case.cache.share_of(total)
            key = (case.policy, case.requests, cache, case.link.bytes_per_s, case.round)
            if key not in known:
                self._run(case)
        self._on_progress(plan.total_steps, plan.total_steps, "")
        return self.report()

    def report(self) -> BenchReport:
        """All that is measured so far."""
        engine, plan = self._engine, self._plan
        return BenchReport(
            model=engine.model.title,
            fingerprint=f"{engine.model.fingerprint:016x}",
            experts_total_bytes=engine.info.experts_total_bytes,
            device=engine.info.device,
            store=engine.info.store,
            n_threads=engine.info.n_threads,
            n_readers=engine.options.n_readers,
            machine=machine(),
            versions=versions(),
            plan=plan,
            steps=plan.steps,
            prompt_tokens=plan.prompt_tokens,
            complete=len(self._runs) >= len(plan.cases()),
            link_emulated=any(link.emulated for link in plan.links),
            streams_agree=not self._differences,
            differences=list(self._differences),
            runs=list(self._runs),
            ratios=ratios_of(self._runs, plan.policies),
            first_streams=list(self._first_streams),
        )

    def _run(self, case: BenchCase) -> None:
        before = len(self._runs) * self._plan.steps
        measured = self._runner.run(
            case,
            lambda done: self._on_progress(before + done, self._plan.total_steps, case.label),
        )
        for at, tokens in enumerate(measured.streams):
            self._compare(at, tokens, case.label)
        self._runs.append(measured.summary)
        self._on_run(self.report())

    def _compare(self, at: int, tokens: tuple[int, ...], label: str) -> None:
        if at == len(self._first_streams):
            self._first_streams.append((label, tokens))
        first_label, first = self._first_streams[at]
        if tokens == first:
            return
        pairs = zip(tokens, first, strict=False)
        place = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(tokens), len(first)))
        self._differences.append(
            f"request {at} differs from token {place} on: {label}, against {first_label}"
        )


def medians(runs: Sequence[BenchRun], field: str) -> float:
    """The median of a field over runs of one policy and case."""
    return float(np.median([getattr(run, field) for run in runs]))
