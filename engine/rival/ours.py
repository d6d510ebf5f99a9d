"""Runahead's side of the comparison: one cold engine, a few requests at once."""

from engine import errors, metrics
from engine.bench_decode import decode
from engine.engine import Engine
from engine.options import EngineOptions
from engine.rival.jobs import Measured, OursJob
from engine.rival.usage import Usage
from engine.steps_so_far import StepsSoFar
from engine.workloads import prompts


def run(job: OursJob) -> Measured:
    """Open the engine and measure. Raises EngineError."""
    work = job.work
    options = EngineOptions(
        store=job.store,
        pack_path=job.pack_path,
        cache=job.cache,
        policy=job.policy,
        n_threads=work.n_threads,
        n_readers=job.n_readers,
        max_requests=work.n_requests,
        context=work.context,
        run_log=False,
    )
    with Engine.open(work.model, options) as engine:
        asked = prompts(job.workload, work.n_requests, job.prompt_tokens, engine.tokenize)
        begin: Usage | None = None
        begin_step = 0

        def polled(tokens: list[list[int]]) -> None:
            nonlocal begin, begin_step
            if begin is None and min(map(len, tokens)) > work.warm_up:
                begin, begin_step = Usage.now(), engine.stats().steps

        so_far = StepsSoFar()
        streams = decode(engine, asked, job.n_steps, job.seed, polled, traced=so_far.take)
        end, end_step = Usage.now(), engine.stats().steps
        full = so_far.steps()
        full = full[full["requests"] == work.n_requests]
        measured = full[work.warm_up : work.warm_up + work.steps]
        if len(measured) < work.steps:
            raise errors.EngineError(
                f"Only {len(full)} steps had all {work.n_requests} requests active,"
                f" not {work.warm_up + work.steps}"
            )
        summary = metrics.summarise(measured)
        n_polled = max(1, end_step - begin_step)
        return Measured(
            tokens_per_s=summary.tokens_per_s,
            steps=len(measured),
            read_bytes=summary.fetched * engine.info.record_bytes,
            major_faults=(end.major_faults - begin.major_faults) / n_polled if begin else 0,
            device=engine.info.device,
            resident_bytes=engine.info.resident_bytes,
            cache_bytes=engine.stats().cache_bytes,
            prompts=tuple(asked),
            streams=tuple(map(tuple, streams)),
        )
