"""The summary of a run: speed, overlap and hits, as a table and as JSON."""

from collections.abc import Callable
from typing import Any

from rich.table import Table

from engine.metrics import Summary


def summary_table(columns: dict[str, Summary], title: str = "") -> Table:
    """One column per run."""
    table = Table(title=title or None, title_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    for label, show in _ROWS:
        table.add_row(label, *(show(summary) for summary in columns.values()))
    return table


def summary_json(summary: Summary) -> dict[str, Any]:
    """The same figures with their names in bench reports."""
    return {name: getattr(summary, name) for name in Summary.__struct_fields__}


_ROWS: tuple[tuple[str, Callable[[Summary], str]], ...] = (
    ("steps", lambda s: f"{s.steps}"),
    ("tokens/s", lambda s: f"{s.tokens_per_s:.1f}"),
    ("step", lambda s: f"{s.step_ms:.1f} ms"),
    ("hit rate", lambda s: f"{s.hit_rate:.0%}"),
    ("experts fetched per step", lambda s: f"{s.fetched:.1f}"),
    ("link busy", lambda s: f"{s.link_share:.0%}"),
    ("compute busy", lambda s: f"{s.compute_share:.0%}"),
    ("both busy", lambda s: f"{s.both_share:.0%}"),
    ("mean group", lambda s: f"{s.group_size:.1f} jobs"),
)
