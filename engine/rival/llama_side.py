"""llama.cpp's side of the comparison: all sequences take a token at every step, in one batch."""

import time

from engine.rival.jobs import LlamaJob, Measured
from engine.rival.llama_model import LlamaModel
from engine.rival.usage import Usage


def run(job: LlamaJob) -> Measured:
    """Load the model and measure. Raises EngineError."""
    work = job.work
    model = LlamaModel(work.model, job.config, work.n_threads)
    context = model.context(work.n_requests, work.context)
    context.prefill([list(prompt) for prompt in job.prompts])
    model.advise()  # now: prefill reads everything, and is not measured
    begin, begin_usage = 0.0, Usage.now()
    for step in range(work.warm_up + work.steps):
        if step == work.warm_up:
            begin, begin_usage = time.perf_counter(), Usage.now()
        context.decode(
            [(s, len(job.prompts[s]) + step, stream[step]) for s, stream in enumerate(job.streams)]
        )
    wall_s, usage = time.perf_counter() - begin, Usage.now()
    return Measured(
        tokens_per_s=work.steps * work.n_requests / wall_s,
        steps=work.steps,
        read_bytes=(usage.read_bytes - begin_usage.read_bytes) / work.steps,
        major_faults=(usage.major_faults - begin_usage.major_faults) / work.steps,
        device="CPU",
    )
