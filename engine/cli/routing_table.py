"""How a model routes, as a table beside what the paper reports."""

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import TextType

from engine.bench_models.routing import PAPER_LFU_HIT, PAPER_PREFETCH_WASTE, Calibration

_COLUMNS = ("requests", "cache", "experts", "LFU hits", "LRU hits", "repeated", "unused")


def routing_table(measured: Sequence[Calibration], title: TextType) -> Table:
    """One row per measurement, and the paper's."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("", no_wrap=True)
    for name in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    table.caption_justify = "left"
    table.caption = (
        "experts: distinct ones that a step needs of a layer; hits: the share of these that"
        " the cache holds; repeated: the share of a token's experts that its request's last token"
        " used, too; unused: of what a prefetcher fetches that asks the next layer's router early"
    )
    for each in measured:
        waste = each.prefetch_waste
        table.add_row(
            "measured",
            str(each.n_request),
            f"{each.cached_share:.0%}",
            f"{each.distinct_per_layer:.1f}",
            f"{each.lfu_hit:.1%}",
            f"{each.lru_hit:.1%}",
            f"{each.repeat_share:.1%}",
            "" if waste is None else f"{waste:.1%}",
        )
    low, high = PAPER_PREFETCH_WASTE
    table.add_row(
        "paper", "8", "30%", "", f"{PAPER_LFU_HIT:.0%}", "", "", f"{low * 100:.0f} to {high:.0%}"
    )
    return table
