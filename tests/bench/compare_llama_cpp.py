"""Measures Runahead against llama.cpp itself on one GGUF, with all weights of both in memory.

    python tests/bench/compare_llama_cpp.py MODEL.gguf [--json] [--llama-only]

Decode with one and with eight sequences, and a prefill of 512 tokens; the same prompts, tokens,
threads and context. llama.cpp runs in every configuration first, each in a process of
its own (one that crashes is reported and left out); per figure its fastest is the rival. Then
rounds alternate between the two engines, and the result is the median of the ratios within a
round, with their range.
"""

import argparse
import json
import os
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from llama_side import LlamaSide, configs
from side_process import SideError, SideProcess
from work import MEASURES, Measure, Work

from engine.rival.jobs import LlamaConfig

Trials = dict[LlamaConfig, dict[str, float | str]]  # tokens per second, or why there is no figure


def try_config(
    model: str, config: LlamaConfig, n_threads: int, work: Work
) -> dict[str, float | str]:
    """Every figure of one configuration; the process starts again after a crash."""
    figures: dict[str, float | str] = {}
    side: SideProcess | None = None
    for measure in MEASURES:
        try:
            if side is None:
                side = SideProcess(LlamaSide, model, config, n_threads)
            figures[measure.name] = max(side.call("measure", measure, work) for _ in range(2))
        except SideError as death:
            figures[measure.name] = str(death)
            if side is not None:
                side.close()
                side = None
    if side is not None:
        side.close()
    return figures


def fastest(trials: Trials, measure: Measure) -> LlamaConfig:
    """The configuration with the highest figure."""
    figures = {c: f for c, t in trials.items() if isinstance(f := t[measure.name], float)}
    if not figures:
        raise SystemExit(f"llama.cpp survives {measure.name} in no configuration")
    return max(figures, key=lambda config: figures[config])


def run_rounds(
    sides: dict[str, dict[str, SideProcess]], n_rounds: int, work: Work
) -> dict[str, dict[str, list[float]]]:
    """{figure: {engine: tokens per second of every round}}, after one round that does not count."""
    figures: dict[str, dict[str, list[float]]] = {m.name: {s: [] for s in sides} for m in MEASURES}
    for round_number in range(n_rounds + 1):
        order = list(sides) if round_number % 2 else list(reversed(sides))
        for measure in MEASURES:
            for name in order:
                figure = sides[name][measure.name].call("measure", measure, work)
                if round_number > 0:
                    figures[measure.name][name].append(figure)
        say(f"round {round_number} of {n_rounds}")
    return figures


def summary(values: list[float]) -> dict[str, float]:
    """Median and range."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def say(text: str) -> None:
    """Progress goes to stderr, so that stdout is the result."""
    print(text, file=sys.stderr, flush=True)


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """The whole comparison, as what --json prints."""
    model = str(options.model)
    with SideProcess(LlamaSide, model, configs()[0], options.threads) as side:
        say("sampling the tokens that both engines will take")
        work = side.call("make_work", options.steps, options.seed)
    trials: Trials = {}
    for config in configs():
        say(f"llama.cpp: {config}")
        trials[config] = try_config(model, config, options.threads, work)
    chosen = {measure.name: fastest(trials, measure) for measure in MEASURES}
    result: dict[str, Any] = {
        "model": options.model.name,
        "threads": options.threads,
        "steps": options.steps,
        "llama.cpp": {str(config): figures for config, figures in trials.items()},
        "fastest": {name: str(config) for name, config in chosen.items()},
    }
    if options.llama_only:
        return result

    from runahead_side import RunaheadSide  # --llama-only needs no engine

    with ExitStack() as stack:
        llama = {
            config: stack.enter_context(SideProcess(LlamaSide, model, config, options.threads))
            for config in set(chosen.values())
        }
        most = max(measure.n_sequences for measure in MEASURES)
        ours = stack.enter_context(
            SideProcess(RunaheadSide, model, options.policy, options.threads, most)
        )
        sides = {
            "runahead": {measure.name: ours for measure in MEASURES},
            "llama.cpp": {name: llama[config] for name, config in chosen.items()},
        }
        rounds = run_rounds(sides, options.rounds, work)
    result["policy"] = options.policy
    result["rounds"] = rounds
    result["ratio"] = {
        name: summary([a / b for a, b in zip(f["runahead"], f["llama.cpp"], strict=True)])
        for name, f in rounds.items()
    }
    return result


def table(result: dict[str, Any]) -> str:
    """For people: tokens per second."""
    names = [measure.name for measure in MEASURES]
    lines = [
        f"{result['model']}, {result['threads']} threads, all weights in memory; tokens per second",
        f"{'llama.cpp, best of 2':42}" + "".join(f"{name:>16}" for name in names),
    ]
    for config, figures in result["llama.cpp"].items():
        cells = [f"{f:.1f}" if isinstance(f := figures[n], float) else f[:15] for n in names]
        lines.append(f"{config:42}" + "".join(f"{cell:>16}" for cell in cells))
    if "rounds" in result:
        lines.append(f"\n{'rounds, median':42}" + "".join(f"{name:>16}" for name in names))
        for side in ("llama.cpp", "runahead"):
            medians = [statistics.median(result["rounds"][name][side]) for name in names]
            lines.append(f"{side:42}" + "".join(f"{median:16.1f}" for median in medians))
        for key in ("median", "min", "max"):
            ratios = [result["ratio"][name][key] for name in names]
            lines.append(
                f"{'runahead / llama.cpp, ' + key:42}" + "".join(f"{r:16.3f}" for r in ratios)
            )
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=48, help="decode steps measured per round")
    parser.add_argument("--policy", default="bevy", help="Runahead's policy")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--llama-only", action="store_true", help="only llama.cpp's configurations")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.model.is_file():
        raise SystemExit(f"{options.model} is not a file")
    result = compare(options)
    print(json.dumps(result, indent=2) if options.json else table(result))


if __name__ == "__main__":
    main()
