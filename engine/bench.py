"""Measures policies against each other on one open engine, in interleaved rounds.

Every policy gets the same prompts, seeds, cache, link and a cold cache; replies do not depend on
the policy, so all see the same routing, which is checked. Prefill runs at full link speed and is
not measured. Of the steps in which all requests are active the first half is warm-up.
"""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from engine import errors, metrics, trace
from engine.bench_decode import decode
from engine.bench_prompts import bench_prompts
from engine.bench_report import BenchReport, BenchRun, ratios_of
from engine.cache_size import CacheSize
from engine.engine import Engine
from engine.link_speed import LinkSpeed
from engine.versions import machine, versions

# (steps done, of how many in all, what runs now); called between polls.
OnProgress = Callable[[int, int, str], None]


class BenchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured: every policy in every case of requests, cache and link.

    The first policy is the one that the others are compared with. Raises InvalidRequestError.
    """

    policies: tuple[str, ...]
    requests: tuple[int, ...] = (2, 4, 8)
    caches: tuple[CacheSize, ...] = (CacheSize(fraction=0.3),)
    links: tuple[LinkSpeed, ...] = (LinkSpeed(),)
    steps: int = 96
    rounds: int = 3
    prompt_tokens: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low in (("steps", 4), ("rounds", 1), ("prompt_tokens", 1)):
            if getattr(self, name) < low:
                raise errors.InvalidRequestError(f"{name} is {getattr(self, name)}, under {low}")
        if not (self.policies and self.requests and self.caches and self.links):
            raise errors.InvalidRequestError("Nothing to measure: a list is empty")

    @property
    def context(self) -> int:
        """Tokens that each request needs."""
        return self.prompt_tokens + self.steps + 1

    @property
    def total_steps(self) -> int:
        """Decode steps of all runs."""
        cases = len(self.requests) * len(self.caches) * len(self.links)
        return cases * self.rounds * len(self.policies) * self.steps


class Bench:
    """One benchmark on an engine that nobody else uses meanwhile."""

    def __init__(self, engine: Engine, plan: BenchPlan, on_progress: OnProgress = lambda *_: None):
        self._engine = engine
        self._plan = plan
        self._on_progress = on_progress
        self._prompts = bench_prompts(
            lambda text: engine.tokenize(text), max(plan.requests), plan.prompt_tokens
        )
        self._streams: dict[int, tuple[str, tuple[int, ...]]] = {}
        self._differences: list[str] = []
        self._steps_done = 0

    def run(self) -> BenchReport:
        """Measure everything. Raises EngineError when a request fails or steps are too few."""
        plan, info = self._plan, self._engine.info
        runs = []
        for cache in plan.caches:
            for link in plan.links:
                for n in plan.requests:
                    for round_ in range(plan.rounds):
                        # Another policy begins each round.
                        at = round_ % len(plan.policies)
                        for policy in (*plan.policies[at:], *plan.policies[:at]):
                            runs.append(self._run(policy, n, cache, link, round_))
        return BenchReport(
            model=self._engine.model.title,
            experts_total_bytes=info.experts_total_bytes,
            device=info.device,
            store=info.store,
            n_threads=info.n_threads,
            machine=machine(),
            versions=versions(),
            steps=plan.steps,
            prompt_tokens=plan.prompt_tokens,
            link_emulated=any(link.emulated for link in plan.links),
            streams_agree=not self._differences,
            differences=self._differences,
            runs=runs,
            ratios=ratios_of(runs, plan.policies),
        )

    def _run(self, policy: str, n: int, cache: CacheSize, link: LinkSpeed, round_: int) -> BenchRun:
        engine, total = self._engine, self._engine.info.experts_total_bytes
        label = f"{policy}, {n} requests, cache {cache}, round {round_ + 1}"
        engine.set_cache_size(cache)
        engine.set_link(LinkSpeed())
        engine.set_policy(policy, cold=True)
        records, first_step = self._decode(n, link, label)
        summary = metrics.summarise(self._measured(records, n, first_step, label))
        self._steps_done += self._plan.steps
        return BenchRun(
            policy=policy,
            requests=n,
            cache_fraction=cache.fraction or cache.bytes_of(total) / max(1, total),
            link_bytes_per_s=link.bytes_per_s,
            round=round_,
            tokens_per_s=summary.tokens_per_s,
            step_ms=summary.step_ms,
            compute_busy_ms=summary.compute_busy_ms,
            link_busy_ms=summary.link_busy_ms,
            both_busy_ms=summary.both_busy_ms,
            hit_rate=summary.hit_rate,
            fetched=summary.fetched,
            wasted=summary.wasted,
            scheduler_ms=summary.scheduler_ms,
            group_size=summary.group_size,
            cache_bytes=engine.stats().cache_bytes,
            steps=summary.steps,
        )

    def _decode(self, n: int, link: LinkSpeed, label: str) -> tuple[trace.Records, int]:
        """Run n requests to their end; their records, and the step after which the link was set."""
        engine, plan = self._engine, self._plan
        first_step = None

        def polled(tokens: list[list[int]]) -> None:
            nonlocal first_step
            if first_step is None and all(tokens):
                engine.set_link(link)
                first_step = engine.stats().steps
            done = max(0, min(map(len, tokens)) - 1)
            self._on_progress(self._steps_done + done, plan.total_steps, label)

        try:
            streams, records = decode(engine, self._prompts[:n], plan.steps, plan.seed, polled)
        except errors.EngineError as error:
            raise errors.EngineError(f"{label}: {error.message}", error.hint) from error
        for at, found in enumerate(streams):
            self._compare(at, tuple(found), label)
        return records, first_step or 0

    def _measured(
        self, records: trace.Records, n: int, first_step: int, label: str
    ) -> metrics.Steps:
        if (trace.of(records, trace.Event.WAVE)["step"] > first_step).any():
            raise errors.EngineError(
                f"{label}: the cache is too small for the policy, so the requests shared waves",
                "Choose a larger --cache or fewer --requests.",
            )
        steps = metrics.step_table(records)
        full = steps[(steps["requests"] == n)]
        measured: metrics.Steps = full[self._plan.steps // 2 :]
        measured = measured[measured["step"] > first_step]
        if len(measured) < max(1, self._plan.steps // 8):
            raise errors.EngineError(
                f"{label}: only {len(full)} steps had all {n} requests active, which is too few",
                "Choose more --steps, fewer --requests or a larger --cache.",
            )
        return measured

    def _compare(self, at: int, tokens: tuple[int, ...], label: str) -> None:
        first_label, first = self._streams.setdefault(at, (label, tokens))
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
