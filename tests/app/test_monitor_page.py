"""The monitor as a person sees it, over a fake engine."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtWidgets import QComboBox, QMainWindow
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from app.models.library import ModelLibrary
from app.monitor import cache_card, monitor_page
from app.monitor.monitor_page import MonitorPage
from app.settings.settings import Settings
from app.theme.style_sheet import style_sheet
from app.theme.theme import Theme
from engine.cache_size import CacheSize
from engine.link_speed import LinkSpeed
from engine.request import Request
from tests.helpers.fake_client import EXPERTS_BYTES, MIN_CACHE_BYTES, FakeClient

LONG = Request(prompt="go on")
WORDS = "word " * 4000


@pytest.fixture
def make_page(
    qtbot: QtBot,
    service: EngineService,
    library: ModelLibrary,
    settings: Settings,
    theme: Theme,
    fake_client: FakeClient,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., MonitorPage]]:
    monkeypatch.setattr(monitor_page, "FRAME_MS", 15)
    monkeypatch.setattr(cache_card, "SEND_MS", 10)
    monkeypatch.setattr(cache_card, "REMEMBER_MS", 30)
    fake_client.reply = lambda request: WORDS
    # Else a test's end could leave it to the garbage collector while it still paints.
    pages: list[MonitorPage] = []

    def make(width: int = 1100, height: int = 700, *, ready: bool = True) -> MonitorPage:
        if ready:
            fake_client.become_ready()
        page = MonitorPage(service, library, settings, theme)
        pages.append(page)
        qtbot.addWidget(page)
        page.resize(width, height)
        page.show()
        qtbot.waitExposed(page)
        return page

    yield make
    for page in pages:
        page.close()
    settings.close()


def run_some(qtbot: QtBot, service: EngineService, page: MonitorPage, n: int = 3) -> None:
    for _ in range(n):
        service.generate(LONG)
    qtbot.waitUntil(lambda: len(page.history.steps) > 8, timeout=10_000)
    qtbot.waitUntil(lambda: page.tiles.tiles[0].value != "–", timeout=10_000)


def choose(box: QComboBox, data: str) -> None:
    """As a person does."""
    box.setCurrentIndex(box.findData(data))
    box.activated.emit(box.currentIndex())


def test_before_anything_runs_the_page_says_what_will_be_seen(
    make_page: Callable[..., MonitorPage],
) -> None:
    page = make_page(ready=False)
    assert page.empty.isVisible()
    assert "step" in page.empty.text.text()
    assert not page.scroll_area.isVisible()


def test_a_loaded_model_shows_the_controls(make_page: Callable[..., MonitorPage]) -> None:
    page = make_page()
    assert not page.empty.isVisible()
    assert page.cache_card.slider.isEnabled()
    assert page.run_card.policy.isEnabled()


def test_what_runs_is_shown_in_every_part(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    qtbot.waitUntil(lambda: page.tokens.has_data() and page.overlap.has_data())
    qtbot.waitUntil(lambda: page.hit_rate.has_data() and page.group_sizes.mean() > 0)
    assert page.heat_map.levels().any()
    values = {tile.name: tile.value for tile in page.tiles.tiles}
    assert values["Hit rate"].endswith("%")
    assert 0.6 < page.history.summary(10**12).hit_rate < 0.8
    assert len(page.timeline_card.timeline.view.lanes.device) > 50
    assert page.history.active_requests() == [0, 1, 2]


def test_records_flow_only_while_the_page_is_seen(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], fake_client: FakeClient
) -> None:
    page = make_page()
    assert fake_client.watched
    page.hide()
    assert not fake_client.watched
    page.show()
    assert fake_client.watched


@pytest.fixture
def window(qtbot: QtBot) -> QMainWindow:
    window = QMainWindow()
    qtbot.addWidget(window)
    return window


def test_records_do_not_flow_while_the_window_is_minimised(
    qtbot: QtBot,
    window: QMainWindow,
    service: EngineService,
    library: ModelLibrary,
    settings: Settings,
    theme: Theme,
    fake_client: FakeClient,
) -> None:
    fake_client.become_ready()
    window.setCentralWidget(MonitorPage(service, library, settings, theme))
    window.show()
    qtbot.waitExposed(window)
    assert fake_client.watched
    window.showMinimized()
    qtbot.waitUntil(lambda: not fake_client.watched)
    window.showNormal()
    qtbot.waitUntil(lambda: fake_client.watched)


def test_pausing_the_timeline_lets_data_go_on(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    card = page.timeline_card
    card.pause.click()
    assert card.state.text() == "Paused"
    window, n_steps = card.timeline.view.window(), len(page.history.steps)
    qtbot.waitUntil(lambda: len(page.history.steps) > n_steps + 3)
    assert card.timeline.view.window() == window
    card.pause.click()
    assert card.state.text() == "Live"
    assert card.timeline.view.window()[1] > window[1]


def drag(qtbot: QtBot, page: MonitorPage, shares: list[float]) -> None:
    slider = page.cache_card.slider
    track = slider._track()
    points = [QPoint(round(track.left() + s * track.width()), 12) for s in shares]
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=points[0])
    for point in points[1:]:
        qtbot.mouseMove(slider, point)
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=points[-1])


def test_dragging_the_slider_resizes_the_cache_while_text_streams(
    qtbot: QtBot,
    make_page: Callable[..., MonitorPage],
    service: EngineService,
    settings: Settings,
    fake_client: FakeClient,
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    drag(qtbot, page, [0.3, 0.4, 0.5, 0.6, 0.7])
    with qtbot.waitSignal(service.cache_changed):
        pass
    asked = [call[1] for call in fake_client.calls if call[0] == "set_cache_size"]
    assert len(asked) <= 3, "movements are gathered"
    assert isinstance(asked[-1], CacheSize)
    assert asked[-1].bytes_of(EXPERTS_BYTES) == pytest.approx(0.7 * EXPERTS_BYTES, rel=0.02)
    assert "70%" in page.cache_card.size_label.text()
    assert not page.cache_card.reason.isVisible()
    qtbot.waitUntil(lambda: settings.cache == service.cache)
    assert settings.get("cache_fraction") == pytest.approx(0.7, abs=0.02)
    assert page.history.markers[-1].kind == "cache"


def test_a_cache_that_became_another_size_says_why(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService
) -> None:
    page = make_page()
    service.set_cache_size(CacheSize(n_bytes=1))
    qtbot.waitUntil(page.cache_card.reason.isVisible)
    assert "raised to what one step needs" in page.cache_card.reason.text()
    assert page.cache_card.slider.n_bytes == pytest.approx(MIN_CACHE_BYTES, rel=0.1)


def test_the_slider_obeys_keys(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService
) -> None:
    page = make_page()
    slider = page.cache_card.slider
    slider.setFocus()
    before = slider.value()
    with qtbot.waitSignal(service.cache_changed):
        qtbot.keyClick(slider, Qt.Key.Key_Right)
    assert slider.value() == before + 10
    with qtbot.waitSignal(service.cache_changed):
        qtbot.keyClick(slider, Qt.Key.Key_End)
    assert service.cache == CacheSize()
    assert "100%" in page.cache_card.size_label.text()


def test_marks_are_in_order_and_within_the_experts(make_page: Callable[..., MonitorPage]) -> None:
    marks = make_page().cache_card.slider.marks
    assert marks.total == EXPERTS_BYTES
    assert marks.minimum == MIN_CACHE_BYTES
    assert marks.minimum <= marks.recommended <= marks.limit <= marks.total


def test_choosing_a_policy_applies_it_and_marks_the_plots(
    qtbot: QtBot,
    make_page: Callable[..., MonitorPage],
    service: EngineService,
    settings: Settings,
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    box = page.run_card.policy
    choose(box, "lockstep-lfu")
    assert settings.get("policy") == "lockstep-lfu"
    qtbot.waitUntil(lambda: "wait" in page.run_card.policy_words.text())
    assert service.policy == "lockstep-lfu"
    assert [marker.text for marker in page.history.markers] == ["Lockstep, LFU"]
    n_steps = len(page.history.steps)
    qtbot.waitUntil(lambda: len(page.history.steps) > n_steps + 8, timeout=10_000)
    qtbot.waitUntil(page.compare_card.rows.isVisible, timeout=10_000)
    assert "Runahead" in page.compare_card.rows.accessibleName()
    assert "Lockstep" in page.compare_card.rows.accessibleName()


def test_a_policy_that_the_engine_refuses_is_shown_nowhere(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    box = page.run_card.policy
    box.addItem("bevvy", "bevvy")
    with qtbot.waitSignal(service.policy_refused):
        choose(box, "bevvy")
    assert box.currentData() == "bevy"
    page.run_card.refresh()
    assert not page.history.markers


def test_an_emulated_link_is_called_so_everywhere(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    box = page.run_card.link
    choose(box, str(LinkSpeed.parse("2GB/s")))
    assert service.link == LinkSpeed.parse("2GB/s")
    assert "emulated" in box.currentText()
    assert "Emulated" in page.run_card.link_words.text()
    assert "emulated" in page.history.markers[-1].text
    assert "emulated" in page.history.markers[-1].setup.link
    qtbot.waitUntil(lambda: any("emulated" in tile.name for tile in page.tiles.tiles))


def test_a_policy_changed_elsewhere_is_shown(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    service.set_policy("runahead/fifo/layer-srtf/lru/none")
    box = page.run_card.policy
    qtbot.waitUntil(lambda: box.currentData() == "runahead/fifo/layer-srtf/lru/none")


def test_requests_in_flight_are_counted(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService
) -> None:
    page = make_page()
    run_some(qtbot, service, page, n=5)
    qtbot.waitUntil(lambda: page.run_card.in_flight.requests == [0, 1, 2, 3, 4])
    assert page.run_card.in_flight_label.text() == "5 of 16"


def test_another_model_begins_a_new_history(
    qtbot: QtBot,
    make_page: Callable[..., MonitorPage],
    service: EngineService,
    fake_client: FakeClient,
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    old = page.history
    fake_client.become_ready("/models/other.gguf")
    qtbot.waitUntil(lambda: page.history is not old)
    assert page.history.empty
    assert page.timeline_card.timeline.view.lanes is page.history.lanes


def test_what_ran_stays_when_the_engine_stops(
    qtbot: QtBot,
    make_page: Callable[..., MonitorPage],
    service: EngineService,
    fake_client: FakeClient,
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    fake_client.crash()
    qtbot.waitUntil(lambda: not page.cache_card.slider.isEnabled())
    assert page.scroll_area.isVisible()
    assert len(page.history.steps) > 0
    qtbot.waitUntil(lambda: page.tiles.tiles[0].value == "–", timeout=10_000)


@pytest.mark.parametrize(("width", "kind"), [(380, "narrow"), (780, "medium"), (1024, "wide")])
def test_a_narrow_page_has_fewer_columns(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], width: int, kind: str
) -> None:
    page = make_page(width, 900)
    assert page.layout_of_parts.kind == kind
    parts = [page.tiles, page.timeline_card, page.cache_card, page.run_card, page.compare_card]
    parts += [page.tokens, page.overlap, page.hit_rate, page.group_sizes, page.heat_map]
    layout = page.layout_of_parts

    def places() -> list[QRect]:
        return [part.rect().translated(part.mapTo(layout, QPoint(0, 0))) for part in parts]

    def overlapping() -> list[tuple[str, str]]:
        found = list(zip(parts, places(), strict=True))
        return [
            (type(one).__name__, type(other).__name__)
            for n, (one, place) in enumerate(found)
            for other, others in found[n + 1 :]
            if place.intersects(others)
        ]

    qtbot.waitUntil(lambda: overlapping() == [])
    assert all(part.isVisible() for part in parts)
    assert all(layout.rect().contains(place) for place in places())
    assert page.tiles.height() == page.tiles.heightForWidth(page.tiles.width())


def test_the_smallest_window_shows_everything_without_scrolling(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], theme: Theme
) -> None:
    page = make_page(1020, 640)
    page.setFont(theme.text_font())
    page.setStyleSheet(style_sheet(theme.palette, theme.font_size, dark=False))
    bar = page.scroll_area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() == 0)


def test_the_heat_map_says_which_expert_is_under_the_pointer(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    qtbot.waitUntil(lambda: page.heat_map.levels().any())
    rect = page.heat_map.map_rect()
    assert "Layer 0, expert 0" in page.heat_map.text_at(rect.topLeft() + QPointF(1, 1))
    assert page.heat_map.text_at(QPointF(0, 0)) == ""
    page.heat_choice.choose("uses")
    assert page.heat_map.levels().max() > 50


def test_the_timeline_is_saved_as_a_picture(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService, tmp_path: Path
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    with qtbot.waitSignal(page.timeline_card.exported):
        page.timeline_card.export_png(tmp_path / "steps.png")
    assert (tmp_path / "steps.png").stat().st_size > 1000
    with qtbot.waitSignal(page.timeline_card.export_failed) as failed:
        page.timeline_card.export_png(tmp_path / "missing" / "steps.png")
    assert failed.args[0].endswith("was not written: No such file or directory.")


def test_other_colours_are_used_when_the_theme_changes(
    qtbot: QtBot, make_page: Callable[..., MonitorPage], service: EngineService, theme: Theme
) -> None:
    page = make_page()
    run_some(qtbot, service, page)
    theme.set_mode("dark")
    image = page.tokens.grab().toImage()
    assert image.pixelColor(2, image.height() - 2).name() == theme.palette.raised
