"""How quick the app feels: the real one, with the real engine and a tiny model. `make bench-app`.

Prints figures beside their targets; nothing here passes or fails. Each part has a process and a
data folder of its own. QT_QPA_PLATFORM chooses the screen (offscreen by default).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from engine.bench_models.make_model import make_model

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("first_window", "streaming", "hour", "conversation")


def measure(what: str, *words: str, home: Path | None = None) -> dict[str, Any]:
    """Run one part of app_measures.py, in an empty data folder or `home`; its figures."""
    if home is None:
        with tempfile.TemporaryDirectory(prefix="runahead-bench-") as folder:
            return measure(what, *words, home=Path(folder))
    arguments = [sys.executable, str(ROOT / "tests/bench/app_measures.py"), what, *words]
    environment = {"QT_QPA_PLATFORM": "offscreen"} | os.environ | {"RUNAHEAD_HOME": str(home)}
    ended = subprocess.run(
        arguments, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT
    )
    figures: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return figures


def first_window(table: Table, n_starts: int, model: Path) -> None:
    """In an empty data folder, and in one with 200 chats of which eight are open."""
    with tempfile.TemporaryDirectory(prefix="runahead-bench-") as folder:
        measure("fill", str(model), home=Path(folder))
        for text, home in (("empty", None), ("200 chats, 8 tabs", Path(folder))):
            times = sorted(
                measure("first_window", str(time.monotonic()), home=home)["first_window_s"]
                for _ in range(n_starts)
            )
            shown = f"{median(times):.2f} s ({times[0]:.2f}-{times[-1]:.2f})"
            table.add_row(f"time to the first window, {text}", shown, "≤ 2 s")


def streaming(table: Table, seconds: float, model: Path) -> None:
    """16 chats that stream, the monitor beside them."""
    found = measure("streaming", str(seconds), str(model))
    gap, ratios, memory = found["gap_ms"], found["ratios"], found["memory_mb"]
    table.add_row(
        f"heartbeat gap, {found['streaming']} chats stream",
        f"p50 {gap['p50']:.0f}, p99 {gap['p99']:.0f}, max {gap['max']:.0f} ms",
        "p99 ≤ 50, max ≤ 150 ms",
    )
    work = found["work_ms"]
    table.add_row(
        "of that, the window's own work",
        f"p50 {work['p50']:.0f}, p99 {work['p99']:.0f}, max {work['max']:.0f} ms",
        "",
    )
    table.add_row("frames of the timeline", f"{found['frames_per_s']:.1f} per s", "≥ 10 per s")
    table.add_row("tokens in all", f"{found['tokens_per_s']:.0f} per s", "")
    table.add_row(
        "throughput, monitor open / closed",
        f"{found['open_over_closed']:.3f} (pairs {ratios[0]:.3f}-{ratios[-1]:.3f})",
        "≥ 0.97",
    )
    table.add_row("memory of the window meanwhile", f"{memory['peak']:.0f} MB at most", "")


def hour(table: Table) -> None:
    """An hour's worth of text and events."""
    found = measure("hour")
    series = ", ".join(map(str, found["series_mb"]))
    table.add_row(
        f"memory after {found['steps']} steps of 16 chats, {found['tokens']} tokens",
        f"{found['memory_mb']['now']:.0f} MB (at first {found['begin_mb']:.0f}; {series})",
        "≤ 350 MB",
    )


def conversation(table: Table) -> None:
    """5,000 messages."""
    found = measure("conversation")
    table.add_row("5,000 messages open", f"{found['open_s']:.2f} s", "≤ 0.5 s")
    for name, text in (("scroll_ms", "they scroll"), ("jump_ms", "the handle is dragged")):
        gap = found[name]
        shown = f"p50 {gap['p50']:.0f}, p99 {gap['p99']:.0f}, max {gap['max']:.0f} ms"
        table.add_row(text, shown, "gaps ≤ 50 ms")


def main() -> None:
    """Measure, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--seconds", type=float, default=60, help="of streaming (default: 60)")
    parser.add_argument("--starts", type=int, default=5, help="default: 5")
    args = parser.parse_args()
    table = Table("what", "measured", "target", title="The app")
    with tempfile.TemporaryDirectory(prefix="runahead-bench-model-") as folder:
        model = Path(folder) / "tiny.gguf"
        make_model(model, like="tiny")
        for part in args.parts or PARTS:
            print(f"{part} …", file=sys.stderr, flush=True)
            if part == "first_window":
                first_window(table, args.starts, model)
            elif part == "streaming":
                streaming(table, args.seconds, model)
            elif part == "hour":
                hour(table)
            else:
                conversation(table)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
