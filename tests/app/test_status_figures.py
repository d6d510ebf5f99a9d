"""Figures about now, from counters that only grow."""

import msgspec
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from app.monitor.tiles import tiles_of
from app.shell.status_figures import Figures, StatusFigures
from app.shell.status_strip import StatusStrip
from app.theme.theme import Theme
from engine.engine_info import EngineStats
from tests.helpers.fake_client import FakeClient

ZERO = EngineStats(**dict.fromkeys(EngineStats.__struct_fields__, 0))


def stats(**counters: int) -> EngineStats:
    return msgspec.structs.replace(ZERO, **counters)


def test_rates_are_of_the_last_seconds_and_not_since_the_start() -> None:
    figures = StatusFigures()
    now = figures.add(0, 0, stats())
    for tenth in range(1, 100):  # 10 s at 40 tokens/s, then idle
        now = figures.add(tenth / 10, 4 * tenth, stats(steps=tenth, fetched_bytes=10**6 * tenth))
    assert now.tokens_per_s == pytest.approx(40)
    assert now.read_bytes_per_s == pytest.approx(10**7)
    for tenth in range(100, 150):
        now = figures.add(tenth / 10, 396, stats(steps=99, fetched_bytes=99 * 10**6))
    assert now.tokens_per_s == 0
    assert now.read_bytes_per_s == 0


def test_reading_counts_pauses_and_is_not_called_what_the_monitor_calls_the_link(
    qapp: QApplication, service: EngineService, theme: Theme
) -> None:
    strip = StatusStrip(service, theme)
    names = [each.text() for each in strip.findChildren(QLabel)]
    (link,) = [tile for tile in tiles_of(None) if tile.unit == "GB/s"]
    assert "Reading" in names and link.name not in names
    assert "pauses between reads included" in strip.reading.toolTip()
    assert "while it reads" in link.tip
    strip.deleteLater()


def test_figures_stay_in_their_places_while_they_change(
    qtbot: QtBot, service: EngineService, fake_client: FakeClient, theme: Theme
) -> None:
    strip = StatusStrip(service, theme)
    qtbot.addWidget(strip)
    strip.resize(1100, 26)
    strip.show()
    fake_client.become_ready()
    qtbot.waitUntil(strip.reading.isVisible)
    places = []
    for read in (33_300_000, 30_000_000, 100_000_000):  # "33.3 MB", "30 MB", "100 MB"
        now = Figures(tokens_per_s=read / 1e6, hit_rate=0.7, read_bytes_per_s=read)
        strip._show(now)
        qtbot.wait(30)
        assert strip.speed.width() >= strip.speed.sizeHint().width()
        places.append(strip.hits.mapTo(strip, QPoint()).x())
    strip._show(Figures(tokens_per_s=5.5, hit_rate=0.7, read_bytes_per_s=30e6))
    qtbot.wait(30)
    assert strip.hits.mapTo(strip, QPoint()).x() == places[-1]
    strip._on_quiet()
    qtbot.waitUntil(lambda: strip.hits.mapTo(strip, QPoint()).x() > places[-1])


def test_hit_rate_counts_joined_experts_as_needed_and_is_none_while_none_is() -> None:
    figures = StatusFigures()
    assert figures.add(0, 0, stats()).hit_rate is None
    assert figures.add(1, 0, stats(hits=6, misses=2, joined=2)).hit_rate == pytest.approx(0.6)


def test_another_engine_starts_from_zero() -> None:
    figures = StatusFigures()
    figures.add(0, 100, stats(steps=50, hits=500))
    now = figures.add(1, 100, stats(steps=1, hits=10, cache_slots=4, cache_in_use=1))
    assert now.tokens_per_s == 0
    assert now.cache_share == 0.25
