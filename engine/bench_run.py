"""Measures single runs: one policy, number of requests, cache and link on an open engine.

Every request has a session that keeps its prompt, so prompts are computed once and not in every
run; this is not measured, and runs at full link speed. Then every run begins with a cold cache. Of
the steps in which all requests are active the first are warm-up.
"""

from collections.abc import Callable

import msgspec

from engine import errors, metrics, trace
from engine.bench_decode import decode, steps_done
from engine.bench_plan import BenchCase
from engine.bench_report import BenchRun
from engine.engine import Engine
from engine.link_speed import LinkSpeed
from engine.request import SessionId
from engine.workloads import prompts


class MeasuredRun(msgspec.Struct, frozen=True):
    """What one run gave.

    Attributes:
        summary: Means over the measured steps.
        steps: The measured steps: all requests active, the warm-up left out.
        records: The trace of the whole run.
        streams: Every request's tokens.
    """

    summary: BenchRun
    steps: metrics.Steps
    records: trace.Records
    streams: list[tuple[int, ...]]


class CaseRunner:
    """Runs cases on an engine that nobody else uses meanwhile.

    `steps` are those of each request. Requests begin one after the other, so n of them have
    `steps` - n or more in common; of these, `warm_up` are not measured (None: half of `steps`).
    """

    def __init__(
        self,
        engine: Engine,
        max_requests: int,
        steps: int,
        prompt_tokens: int,
        seed: int = 0,
        warm_up: int | None = None,
        workload: str = "short",
    ):
        self._engine = engine
        self._steps = steps
        self._warm_up = steps // 2 if warm_up is None else warm_up
        self._seed = seed
        self._prompts = prompts(workload, max_requests, prompt_tokens, engine.tokenize)
        self._sessions: list[SessionId] = []

    def try_policy(self, policy: str) -> None:
        """Raise InvalidRequestError when the engine does not take this policy."""
        try:
            self._engine.set_policy(policy)
        except errors.EngineError as error:
            raise errors.InvalidRequestError(
                f"The engine does not take the policy {policy}: {error.message}", error.hint
            ) from error

    def run(
        self, case: BenchCase, stepped: Callable[[int], None], steps: int | None = None
    ) -> MeasuredRun:
        """Measure one case; `stepped` hears of the steps done, between polls.

        steps: Of this run, if others than of all.

        Raises EngineError when a request fails or too few steps had all requests active.
        """
        engine, n = self._engine, case.requests
        engine.set_cache_size(case.cache)
        engine.set_link(LinkSpeed())
        self._open_sessions(n)
        engine.set_policy(case.policy, cold=True)
        first_step = None
        n_step = self._steps if steps is None else steps

        def polled(tokens: list[list[int]]) -> None:
            nonlocal first_step
            if first_step is None and all(tokens):
                engine.set_link(case.link)
                first_step = engine.stats().steps
            stepped(steps_done(tokens))

        try:
            streams, records = decode(
                engine, self._prompts[:n], n_step, self._seed, polled, self._sessions[:n]
            )
        except errors.EngineError as error:
            raise errors.EngineError(f"{case.label}: {error.message}", error.hint) from error
        measured = self._measured(records, case, first_step or 0, n_step)
        summary = self._summary(case, metrics.summarise(measured))
        return MeasuredRun(summary, measured, records, [tuple(tokens) for tokens in streams])

    def _open_sessions(self, n: int) -> None:
        """Every run finds its prompts in the same state, the first one too."""
        for prompt in self._prompts[len(self._sessions) : n]:
            session = self._engine.open_session()
            decode(self._engine, [prompt], 0, self._seed, lambda _: None, [session])
            self._sessions.append(session)

    def _measured(
        self, records: trace.Records, case: BenchCase, first_step: int, n_step: int
    ) -> metrics.Steps:
        if (trace.of(records, trace.Event.WAVE)["step"] > first_step).any():
            raise errors.EngineError(
                f"{case.label}: the cache is too small for the policy, so the requests shared"
                " waves",
                "Choose a larger --cache or fewer --requests.",
            )
        steps = metrics.step_table(records)
        full = steps[(steps["requests"] == case.requests)]
        measured: metrics.Steps = full[self._warm_up :]
        measured = measured[measured["step"] > first_step]
        if len(measured) < max(1, n_step // 8):
            raise errors.EngineError(
                f"{case.label}: only {len(full)} steps had all {case.requests} requests active,"
                " which is too few",
                "Choose more --steps, fewer --requests or a larger --cache.",
            )
        return measured

    def _summary(self, case: BenchCase, summary: metrics.Summary) -> BenchRun:
        return BenchRun(
            policy=case.policy,
            requests=case.requests,
            cache_fraction=case.cache.share_of(self._engine.info.experts_total_bytes),
            link_bytes_per_s=case.link.bytes_per_s,
            round=case.round,
            tokens_per_s=summary.tokens_per_s,
            step_ms=summary.step_ms,
            compute_busy_ms=summary.compute_busy_ms,
            link_busy_ms=summary.link_busy_ms,
            both_busy_ms=summary.both_busy_ms,
            hit_rate=summary.hit_rate,
            fetched=summary.fetched,
            prefetched=summary.prefetched,
            wasted=summary.wasted,
            link_gbps=summary.link_gbps,
            scheduler_ms=summary.scheduler_ms,
            group_size=summary.group_size,
            cache_bytes=self._engine.stats().cache_bytes,
            steps=summary.steps,
        )
