"""How the study's pictures look, and what policies are called in them.

Colours are Okabe and Ito's, which most colour-blind people tell apart; where lines cross, markers
differ too. Pictures are drawn without a display.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import IO, Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from engine.study.policies import BELADY, ordered, with_lfu

INK = "#22272e"
QUIET = "#6b7480"
GRID = "#e3e6ea"
BLUE, ORANGE, GREEN, PINK = "#0072b2", "#e69f00", "#009e73", "#cc79a7"
SKY, RED, GREY, PALE = "#56b4e9", "#d55e00", "#8a929c", "#d8dce1"

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 9,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#b4bac2",
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "ytick.major.size": 0,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "savefig.dpi": 160,
    "figure.facecolor": "white",
}


class _Look(NamedTuple):
    label: str
    colour: str
    marker: str


_LOOKS = {
    "bevy": _Look("bevy", BLUE, "o"),
    "bevy+prefetch": _Look("bevy + prefetch", SKY, "D"),
    "lockstep-lfu": _Look("lockstep, LFU", "#444b54", "s"),
    "llama.cpp": _Look("llama.cpp (lockstep, LRU per layer)", GREY, "v"),
    "specmd": _Look("SpecMD", ORANGE, "^"),
    "finemoe": _Look("FineMoE", GREEN, "P"),
    "promoe": _Look("ProMoE", PINK, "X"),
    "prescope": _Look("PreScope", RED, "d"),
    "mixtral-offloading": _Look("Mixtral-Offloading", "#b2a200", "h"),
    with_lfu("finemoe"): _Look("FineMoE, LFU", GREEN, "P"),
    with_lfu("specmd"): _Look("SpecMD, LFU", ORANGE, "^"),
    BELADY: _Look("lockstep, Belady's optimum", SKY, "*"),
    ordered("lowest-layer", "global-srtf"): _Look("fetch by global SRTF", ORANGE, "^"),
    ordered("lowest-layer", "fifo"): _Look("fetch first come first served", GREEN, "P"),
    ordered("fifo", "layer-srtf"): _Look("compute oldest job first", PINK, "X"),
    ordered("fifo", "global-srtf"): _Look("oldest first, global SRTF", RED, "d"),
}
# By the number of groups.
_STATIC_COLOURS = {1: INK, 2: "#7b4fa3", 3: GREEN, 4: ORANGE, 5: "#b2a200", 6: GREY}
_STATIC_MARKERS = {1: "s", 2: ">", 3: "P", 4: "^", 5: "h", 6: "v"}


def look(policy: str) -> _Look:
    """Label, colour and marker of a policy."""
    if policy in _LOOKS:
        return _LOOKS[policy]
    schedule = policy.split("/")[0]
    if schedule.startswith("static:"):
        n = schedule.count(":")
        label = f"static {schedule.removeprefix('static:')}"
        return _Look(label, _STATIC_COLOURS.get(n, GREY), _STATIC_MARKERS.get(n, "v"))
    return _Look(policy, GREY, "v")


def label(policy: str) -> str:
    """What a policy is called in pictures and tables."""
    return look(policy).label


def applied() -> AbstractContextManager[None]:
    """Pictures that are drawn and saved inside look like this."""
    return mpl.rc_context(_RC)


def panels(
    n: int, *, width: float = 8.6, height: float = 3.4, share_y: bool = False, ratios: Any = None
) -> tuple[Figure, list[Any]]:
    """A picture with `n` axes side by side."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(
        1, n, squeeze=False, sharey=share_y, gridspec_kw={"width_ratios": ratios}
    )
    return figure, list(axes[0])


def line(axes: Any, policy: str, x: Sequence[float], y: Sequence[float], **others: Any) -> None:
    """One policy's line; ours is drawn above the others."""
    found = look(policy)
    axes.plot(
        x,
        y,
        label=found.label,
        color=found.colour,
        marker=found.marker,
        zorder=4 if policy == "bevy" else 3,
        markeredgecolor="white",
        markeredgewidth=0.6,
        **others,
    )


def from_zero(axes: Any, room: float = 1.14) -> None:
    """The y axis from 0, with room for numbers above the highest point."""
    highest = max((float(np.max(each.get_ydata())) for each in axes.lines), default=1.0)
    axes.set_ylim(0, room * highest or 1)


def legend_below(figure: Figure, axes: Any, n_columns: int = 5) -> None:
    """One legend for all axes, below them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(n_columns, max(1, len(handles)))
    )


def save(figure: Figure, file: IO[bytes]) -> None:
    """Write a PNG."""
    figure.savefig(file, format="png", metadata={"Software": "Runahead"})


def above(axes: Any, x: float, y: float, text: str) -> None:
    """A small number above a point."""
    axes.annotate(
        text,
        (x, y),
        xytext=(0, 7),
        textcoords="offset points",
        ha="center",
        fontsize=8,
        color=BLUE,
        fontweight="bold",
        zorder=5,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )


def stacked(
    axes: Any, y: float, parts: Sequence[float], colours: Sequence[str], height: float = 0.62
) -> None:
    """One horizontal bar of parts; those that are wide enough carry their number."""
    left, total = 0.0, sum(parts)
    for value, colour in zip(parts, colours, strict=True):
        axes.barh(y, value, height, left=left, color=colour, edgecolor="white", linewidth=0.6)
        if total and value > 0.09 * total:
            light = np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) > 0.55
            ink = INK if light else "white"
            axes.text(
                left + value / 2,
                y,
                f"{value:.0f}",
                ha="center",
                va="center",
                fontsize=7.5,
                color=ink,
            )
        left += value


def horizontal(axes: Any) -> None:
    """Grid lines for horizontal bars."""
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x", color=GRID, linewidth=0.8)
    axes.spines["left"].set_visible(False)


def patches_below(axes: Any, names: Sequence[tuple[str, str]], n_columns: int) -> None:
    """A legend of coloured boxes below the axes."""
    handles = [Patch(color=colour, label=name) for name, colour in names]
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        borderaxespad=4.6,  # times the font size, so the same however high the axes are
        ncols=n_columns,
        fontsize=8,
        handlelength=1.2,
        columnspacing=1.4,
    )
