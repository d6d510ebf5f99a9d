"""The timeline picture: what the device and every reader did, in time, coloured by request.

The upper lane is the device: each block is a group, striped by the requests in it, named by its
layer. Below are the readers: each block is an expert on its way, in the colour of the request that
needed it first. Drawn without a display.
"""

from pathlib import Path
from typing import IO, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from engine import metrics, trace
from engine.intervals import Intervals
from engine.last_steps import last_of_most
from engine.trace import Event, Records

# Distinct in hue and lightness, also for most colour-blind people (after Okabe and Ito).
_COLOURS = [
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#b2a200"),
]
_SHARED = "#9aa5b1"  # device work for all requests together
_DEVICE_HEIGHT = 2.4
_READER_HEIGHT = 0.8


def write_timeline(
    records: Records,
    file: Path | IO[bytes],
    *,
    title: str = "",
    n_steps: int = 2,
    first_step: int | None = None,
) -> int:
    """Draw `n_steps` from the step of number `first_step` on; returns how many were drawn.

    Without `first_step`, the last ones of the steps with the most requests. Nothing is written, and
    0 returned, when the records hold no such step.
    """
    steps = metrics.step_table(records)
    if first_step is not None:
        steps = steps[steps["step"] >= first_step][:n_steps]
    else:
        steps = steps[last_of_most(steps["requests"], n_steps)]
    if not len(steps):
        return 0
    figure = timeline_figure(records, steps, title)
    figure.savefig(file, format="png", dpi=150)
    return len(steps)


def timeline_figure(records: Records, steps: metrics.Steps, title: str = "") -> Figure:
    """The picture of these steps."""
    begin, end = int(steps["begin_ns"].min()), int(steps["end_ns"].max())
    inside = records[(records["end_ns"] > begin) & (records["begin_ns"] < end)]
    requests = _requests(inside)
    colours = {r: _COLOURS[n % len(_COLOURS)] for n, r in enumerate(requests)}
    readers = [int(lane) for lane in np.unique(_reads(inside)["lane"])]

    figure = Figure(figsize=(13, 2.9 + 0.26 * max(1, len(readers))), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _draw_device(axes, inside, requests, colours, begin, end)
    _draw_readers(axes, inside, readers, colours, begin)
    for step in steps:
        at = (int(step["begin_ns"]) - begin) / 1e6
        axes.axvline(at, color="#555555", linewidth=0.8, linestyle=(0, (4, 3)))
        axes.annotate(
            f"step {step['step']}",
            (at, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=8,
            color="#555555",
        )
    _label(axes, readers, (end - begin) / 1e6)
    _legend(axes, requests, colours)
    summary = metrics.summarise(steps)
    axes.set_title(
        f"{title}{'   ' if title else ''}step {summary.step_ms:.1f} ms, compute busy"
        f" {summary.compute_share:.0%}, link busy {summary.link_share:.0%}, both"
        f" {summary.both_share:.0%}",
        fontsize=10,
        loc="left",
        pad=16,
    )
    return figure


def _requests(records: Records) -> list[int]:
    issued = trace.of(records, Event.HIT, Event.JOIN, Event.MISS)
    issued = issued[issued["step"] >= 0]
    return [int(request) for request in np.unique(issued["request"]) if request >= 0]


def _reads(records: Records) -> Records:
    return trace.of(records, Event.FETCH, Event.PREFETCH)


def _draw_device(
    axes: Any,
    records: Records,
    requests: list[int],
    colours: dict[int, str],
    begin: int,
    end: int,
) -> None:
    shared = trace.of(records, Event.FRONT, Event.HEAD, Event.WAVE)
    axes.broken_barh(_spans(shared, begin), (0, _DEVICE_HEIGHT), color=_SHARED, linewidth=0)
    stripes: dict[tuple[int, float, float], list[tuple[float, float]]] = {}
    for row in trace.of(records, Event.GROUP):
        at = (int(row["begin_ns"]) - begin) / 1e6
        width = (int(row["end_ns"]) - int(row["begin_ns"])) / 1e6
        members = [r for r in requests if int(row["b"]) >> r % 32 & 1]
        if len(members) != row["a"]:  # more than 32 requests share the bits
            members = [-1]
        height = _DEVICE_HEIGHT / len(members)
        for n, request in enumerate(members):
            low = _DEVICE_HEIGHT - (n + 1) * height
            stripes.setdefault((request, low, height), []).append((at, width))
        if width > (end - begin) / 1e6 * 0.009:
            axes.text(
                at + width / 2,
                _DEVICE_HEIGHT / 2,
                f"{row['layer']}",
                ha="center",
                va="center",
                fontsize=6.5,
                color="white",
                clip_on=True,
            )
    for (request, low, height), spans in stripes.items():
        axes.broken_barh(
            spans,
            (low, height),
            color=colours.get(request, _SHARED),
            edgecolor="white",
            linewidth=0.3,
        )


def _draw_readers(
    axes: Any, records: Records, readers: list[int], colours: dict[int, str], begin: int
) -> None:
    reads = _reads(records)
    for n, lane in enumerate(readers):
        own = reads[reads["lane"] == lane]
        for request in np.unique(own["request"]):
            for event, hatch in ((Event.FETCH, None), (Event.PREFETCH, "////")):
                rows = own[(own["request"] == request) & (own["event"] == int(event))]
                axes.broken_barh(
                    _spans(rows, begin),
                    (-1.4 - n, _READER_HEIGHT),
                    facecolor=colours.get(int(request), _SHARED),
                    edgecolor="white",
                    linewidth=0.3,
                    hatch=hatch,
                )


def _spans(records: Records, begin: int) -> list[tuple[float, float]]:
    joined = Intervals(records["begin_ns"], records["end_ns"])
    return [
        ((int(low) - begin) / 1e6, (int(high) - int(low)) / 1e6)
        for low, high in zip(joined.begins, joined.ends, strict=True)
    ]


def _label(axes: Any, readers: list[int], width_ms: float) -> None:
    axes.set_xlim(0, width_ms)
    axes.set_ylim(-1.7 - max(0, len(readers) - 1), _DEVICE_HEIGHT + 0.2)
    ticks = [_DEVICE_HEIGHT / 2, *(-1.0 - n for n in range(len(readers)))]
    axes.set_yticks(ticks, ["compute", *(f"link {lane}" for lane in readers)], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("time (ms)")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _legend(axes: Any, requests: list[int], colours: dict[int, str]) -> None:
    handles = [Patch(color=colours[each], label=f"request {each}") for each in requests]
    handles.append(Patch(color=_SHARED, label="all requests"))
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14 if len(axes.get_yticks()) > 4 else -0.25),
        ncols=min(9, len(handles)),
        frameon=False,
        fontsize=8,
    )
