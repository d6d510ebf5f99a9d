"""The figures, one module each; FIGURES has them in the order of the report."""

from engine.study.data import StudyFigure
from engine.study.figures import (
    breakdown,
    cache_size,
    concurrency,
    groups,
    link_speed,
    orders,
    precision,
    prefetch_on_top,
    static_groups,
    stragglers,
)

FIGURES: tuple[StudyFigure, ...] = (
    precision,
    groups,
    stragglers,
    concurrency,
    cache_size,
    breakdown,
    static_groups,
    orders,
    prefetch_on_top,
    link_speed,
)
# What a study runs first, so that one that was ended early has the figures that say most.
MOST_TELLING = ("fig8", "link", "fig11", "fig4", "fig9", "fig12", "fig13", "fig10")
