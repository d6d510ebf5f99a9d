"""Figures beside the monitor's plots, and on its tiles, are of what happened or are none."""

import pytest
from pytestqt.qtbot import QtBot

from app.monitor.charts import HitRateChart, OverlapChart
from app.monitor.history import History
from app.monitor.tiles import tiles_of
from app.monitor.time_chart import Span, TimeChart
from app.theme.theme import Theme
from engine.metrics import Summary
from engine.trace import Event
from tests.helpers.made_up_records import MadeUpRecords
from tests.helpers.monitor_records import MS, record

MINUTE = 60_000 * MS


@pytest.mark.parametrize("kind", [HitRateChart, OverlapChart])
def test_where_no_step_ended_lately_no_share_of_now_is_told(
    qtbot: QtBot, theme: Theme, kind: type[HitRateChart] | type[OverlapChart]
) -> None:
    chart: TimeChart = kind(theme)
    qtbot.addWidget(chart)
    chart.resize(400, 200)
    maker, history = MadeUpRecords(0), History(12, 128)
    for _ in range(6):
        history.add(maker.next_step([0, 1, 2]))
        history.update_steps()
    history.update_steps()
    assert isinstance(chart, HitRateChart | OverlapChart)
    chart.show_history(history, Span(history.latest_ns - MINUTE, history.latest_ns))
    assert "%" in chart.value_text(-1)
    later = history.latest_ns / MS + 9_000
    history.add(record(Event.MISS, later, step=6, layer=0, expert=5, request=0, b=-1))
    history.update_lanes()  # a step that goes on
    chart.show_history(history, Span(history.latest_ns - MINUTE, history.latest_ns))
    assert chart.has_data()
    assert chart.value_text(-1) == "–"
    assert not [swatch.text for swatch in chart.legend(-1) if "%" in swatch.text]


@pytest.mark.parametrize(
    ("gigabytes_per_s", "shown"),
    [(0.0283, ("28.3", "MB/s")), (0.9996, ("1.00", "GB/s")), (7.1, ("7.10", "GB/s"))],
)
def test_a_slow_link_is_told_in_megabytes(gigabytes_per_s: float, shown: tuple[str, str]) -> None:
    summary = Summary(steps=4, link_busy_ms=1_000, link_bytes=gigabytes_per_s * 1e9)
    (link,) = [tile for tile in tiles_of(summary) if tile.name == "Link"]
    assert (link.value, link.unit) == shown
