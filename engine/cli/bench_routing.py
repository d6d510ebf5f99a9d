"""`runahead bench --routing`: how a model routes on the real engine, beside the paper's figures."""

import argparse

from engine.bench_models.engine_routing import record_routing
from engine.bench_models.routing import Calibration, calibrate
from engine.cli.measuring import open_engine
from engine.cli.routing_table import routing_table
from engine.cli.terminal import plain, progress_bars, stdout
from engine.model_info import inspect_model


def run_routing(args: argparse.Namespace) -> int:
    """Run the most requests once; replay what they routed to through caches of every size."""
    n_request = max(args.requests)
    total = inspect_model(args.model).experts_total_bytes
    largest = max(args.cache, key=lambda cache: cache.bytes_of(total))
    engine = open_engine(
        args,
        cache=largest,
        cases=[(n_request, largest)],
        context=args.prompt_tokens + args.steps + 1,
        max_requests=n_request,
    )
    with engine, progress_bars() as bars:
        task = bars.add_task("Decoding", total=args.steps, amount="")
        routing = record_routing(
            engine,
            n_request,
            args.steps,
            prompt_tokens=args.prompt_tokens,
            seed=args.seed,
            stepped=lambda done: bars.update(task, completed=done),
        )
    measured: list[Calibration] = []
    for cache in args.cache:
        share = cache.bytes_of(total) / total
        for n in args.requests:
            measured.append(calibrate(routing[:, :n], engine.info.n_expert, cached_share=share))
    title = plain(f"How {engine.model.title} routes, over {measured[0].n_step} steps")
    stdout().print(routing_table(measured, title))
    return 0
