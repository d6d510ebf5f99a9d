"""Finds llama.cpp's fastest way to run under a limit: one change at a time, from a plain start."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from engine.rival.jobs import Advice, LlamaConfig

# Tokens per second of a short run; None when it failed.
Try = Callable[[LlamaConfig], float | None]

START = LlamaConfig()
MOST_TRIES = 8


def fastest(try_config: Try, *, fits: bool, read_aheads: Sequence[int] = ()) -> LlamaConfig | None:
    """The fastest that was found; None when all failed. `fits`: the whole model, in the limit.

    read_aheads: In KiB, to be tried beside the disk's own; MOST_TRIES does not count them. Without
    `fits`, weights in memory of their own (repacked, or read instead of mapped) are tried for
    those only that every token needs: more would be killed, or swapped were there swap.
    """
    best, most = START, try_config(START)
    for alternatives in (
        lambda now: _weights(now, fits),
        lambda now: [replace(now, kv="separate")],
        _advice,
        lambda now: _read_ahead(now, read_aheads),
    ):
        for config in alternatives(best):
            speed = try_config(config)
            if speed is not None and (most is None or speed > most):
                best, most = config, speed
    return None if most is None else best


def _weights(best: LlamaConfig, fits: bool) -> list[LlamaConfig]:
    found = [replace(best, weights="repack-shared")]
    if fits:
        found.append(replace(best, weights="plain", load="none"))
        found.append(replace(best, weights="repack", load="none"))
    return found


def _advice(best: LlamaConfig) -> list[LlamaConfig]:
    if best.load != "mmap":
        return []
    advices: tuple[Advice, ...] = ("hugepage", "hugepage-random", "random")
    return [replace(best, advice=advice) for advice in advices]


def _read_ahead(best: LlamaConfig, read_aheads: Sequence[int]) -> list[LlamaConfig]:
    if best.load != "mmap":
        return []
    return [replace(best, advice="normal", read_ahead_kb=kb) for kb in read_aheads]
