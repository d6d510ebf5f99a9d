"""Finds llama.cpp's fastest way to run under a limit: one change at a time, from a plain start."""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from engine.rival.jobs import LlamaConfig

# Tokens per second of a short run; None when it failed.
Try = Callable[[LlamaConfig], float | None]

START = LlamaConfig()
MOST_TRIES = 8


def fastest(try_config: Try, *, fits: bool) -> LlamaConfig | None:
    """The fastest that was found; None when all failed. `fits`: the whole model, in the limit.

    Without it, weights in memory of their own (repacked, or read instead of mapped) are tried for
    those only that every token needs: more would be killed, or swapped were there swap.
    """
    best, most = START, try_config(START)
    for changed in (_weights, _kv, _advice):
        for config in changed(best, fits):
            speed = try_config(config)
            if speed is not None and (most is None or speed > most):
                best, most = config, speed
    return None if most is None else best


def _weights(best: LlamaConfig, fits: bool) -> Iterator[LlamaConfig]:
    yield replace(best, weights="repack-shared")
    if fits:
        yield replace(best, weights="plain", load="none")
        yield replace(best, weights="repack", load="none")


def _kv(best: LlamaConfig, fits: bool) -> Iterator[LlamaConfig]:
    yield replace(best, kv="separate")


def _advice(best: LlamaConfig, fits: bool) -> Iterator[LlamaConfig]:
    if best.load == "mmap":
        yield replace(best, advice="hugepage")
        yield replace(best, advice="hugepage-random")
        yield replace(best, advice="random")
