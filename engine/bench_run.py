"""Measures single runs: one policy, number of requests, cache and link on an open engine.

Every request has a session that keeps its prompt, so prompts are computed once and not in every
run; this is not measured, and runs at full link speed. Then every run begins with a cold cache. Of
the steps in which all requests are active the first are warm-up.
"""

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine import errors, metrics, trace
from engine.bench_decode import decode, steps_done
from engine.bench_plan import BenchCase
from engine.bench_report import BenchRun
from engine.engine import Engine
from engine.link_speed import LinkSpeed
from engine.request import SessionId
from engine.steps_so_far import StepsSoFar
from engine.trace import Event, Records
from engine.workloads import prompts


class MeasuredRun(msgspec.Struct, frozen=True):
    """What one run gave.

    Attributes:
        summary: Means over the measured steps.
        steps: The measured steps: all requests active, the warm-up left out.
        groups_of_size: Entry n: how many groups had n jobs, over the measured steps.
        streams: Every request's tokens.
    """

    summary: BenchRun
    steps: metrics.Steps
    groups_of_size: list[int]
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
        traced = _Traced()

        def polled(tokens: list[list[int]]) -> None:
            nonlocal first_step
            if first_step is None and all(tokens):
                engine.set_link(case.link)
                first_step = engine.stats().steps
            stepped(steps_done(tokens))

        try:
            streams = decode(
                engine,
                self._prompts[:n],
                n_step,
                self._seed,
                polled,
                self._sessions[:n],
                traced=traced.take,
            )
        except errors.EngineError as error:
            raise errors.EngineError(f"{case.label}: {error.message}", error.hint) from error
        measured = self._measured(traced, case, first_step or 0, n_step)
        summary = self._summary(case, metrics.summarise(measured))
        sizes = traced.groups_of_size(measured)
        return MeasuredRun(summary, measured, sizes, [tuple(tokens) for tokens in streams])

    def _open_sessions(self, n: int) -> None:
        """Every run finds its prompts in the same state, the first one too."""
        for prompt in self._prompts[len(self._sessions) : n]:
            session = self._engine.open_session()
            decode(self._engine, [prompt], 0, self._seed, lambda _: None, [session])
            self._sessions.append(session)

    def _measured(
        self, traced: "_Traced", case: BenchCase, first_step: int, n_step: int
    ) -> metrics.Steps:
        if traced.last_wave > first_step:
            raise errors.EngineError(
                f"{case.label}: the cache is too small for the policy, so the requests shared"
                " waves",
                "Choose a larger --cache or fewer --requests.",
            )
        steps = traced.so_far.steps()
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


class _Traced:
    """What a run's records say of it, without keeping them: a run may be long.

    Attributes:
        last_wave: The last step in which requests shared waves; -1: none.
    """

    def __init__(self) -> None:
        self.so_far = StepsSoFar()
        self.last_wave = -1
        self._groups: list[NDArray[np.int64]] = []  # rows of: step, size, how many

    def take(self, records: Records) -> None:
        """Add what came."""
        self.so_far.take(records)
        if len(waves := trace.of(records, Event.WAVE)):
            self.last_wave = max(self.last_wave, int(waves["step"].max()))
        if len(groups := trace.of(records, Event.GROUP)):
            pairs = np.stack([groups["step"], groups["a"]], axis=1).astype(np.int64)
            found, n = np.unique(pairs, axis=0, return_counts=True)
            self._groups.append(np.column_stack([found, n]))

    def groups_of_size(self, steps: metrics.Steps) -> list[int]:
        """Entry n: how many groups had n jobs, in these steps."""
        step, size, n = np.concatenate([np.zeros((0, 3), np.int64), *self._groups]).T
        inside = np.isin(step, steps["step"])
        return [int(sum_) for sum_ in np.bincount(size[inside], n[inside])]
