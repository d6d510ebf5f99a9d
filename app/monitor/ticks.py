"""Where an axis has its lines, and what is written there."""

import math

_TIMES = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


def nice_ceiling(value: float) -> float:
    """The smallest of 1, 2, 5, 10 times a power of ten that is not less."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * 0.9999)


def nice_top(value: float) -> float:
    """An upper end over `value` whose quarters are round too."""
    power = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next(step * power for step in (1, 2, 4, 8, 10, 20) if step * power >= value * 0.9999)


def nice_step(span: float, most: int) -> float:
    """The distance of at most `most` lines over a span."""
    return nice_ceiling(span / max(1, most))


def second_step(span_s: float, most: int) -> float:
    """As nice_step, in steps that clocks know; below a second decimal ones."""
    least = span_s / max(1, most)
    if least < 1:
        return nice_ceiling(least)
    return next(
        (float(step) for step in _TIMES if step >= least), 86400.0 * math.ceil(least / 86400)
    )


def ago(seconds: float) -> str:
    """How long ago, short: "now", "45 s", "2 min", "1.5 h"."""
    if seconds < 0.5:
        return "now"
    if seconds < 120 and seconds % 60:
        return f"{seconds:.0f} s"
    if seconds < 7200 and seconds % 3600:
        return f"{seconds / 60:g} min"
    return f"{seconds / 3600:g} h"


def duration(ns: float) -> str:
    """A time that something took: "740 ns", "1.24 ms", "3.5 s"."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= 0.9995 * size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"
