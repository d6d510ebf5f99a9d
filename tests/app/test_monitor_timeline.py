"""The timeline: what its pixels show, and how it is moved."""

import errno
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from app.monitor.history import History
from app.monitor.lane import Lane
from app.monitor.timeline import Timeline
from app.monitor.timeline_picture import Shades, columns, device_pixels, reader_pixels
from app.monitor.timeline_view import TimelineView
from app.theme.theme import Theme
from engine.trace import Event, Records
from tests.helpers.made_up_records import MadeUpRecords
from tests.helpers.monitor_records import MS, joined, record

SHADES = Shades(
    requests=np.arange(0x10, 0x20, dtype=np.uint32), front=1, head=2, sample=3, all_requests=4
)


def lane_of(*records: Records) -> Lane:
    lane = Lane(1000)
    lane.append(joined(*records))
    return lane


def rgb(pixels: np.ndarray) -> list:  # type: ignore[type-arg]
    return (pixels & 0xFFFFFF).tolist()  # type: ignore[no-any-return]


def group(begin: float, end: float, *requests: int, layer: int = 0) -> Records:
    mask = sum({1 << r % 32 for r in requests})
    return record(Event.GROUP, begin, end, layer=layer, a=len(requests), b=mask, step=0)


def played(n_steps: int = 12, requests: int = 3) -> History:
    history, maker = History(12, 128), MadeUpRecords()
    for _ in range(n_steps):
        history.add(maker.next_step(list(range(requests))))
        history.update_steps()
    return history


def test_a_group_is_stacked_in_the_colours_of_its_requests() -> None:
    shown = columns([lane_of(group(0, 10, 2, 5, 17))], 0, 10 * MS, 10)
    assert shown is not None
    pixels = device_pixels(shown, 0, 6, SHADES)
    assert rgb(pixels[:, 5]) == [0x11, 0x11, 0x12, 0x12, 0x15, 0x15]  # 17 has colour 1


def test_front_head_and_sampling_differ_from_groups() -> None:
    lane = lane_of(
        record(Event.FRONT, 0, 1, a=1),
        group(1, 2, 0),
        record(Event.HEAD, 2, 3, a=1),
        record(Event.SAMPLE, 3, 4, a=1),
        record(Event.WAVE, 4, 5, request=3, layer=0),
    )
    shown = columns([lane], 0, 5 * MS, 5)
    assert shown is not None
    pixels = device_pixels(shown, 0, 6, SHADES)
    assert rgb(pixels[0]) == [1, 0x10, 2, 3, 0x13]
    alpha = pixels >> 24
    assert alpha[0, 1] == alpha[1, 1], "a group is solid"
    assert alpha[0, 4] != alpha[1, 4], "a wave of a prompt is striped"


def test_a_wait_is_a_gap() -> None:
    shown = columns([lane_of(group(0, 2, 0), group(8, 10, 0))], 0, 10 * MS, 10)
    assert shown is not None
    assert (shown.alpha[0] > 0).tolist() == [True] * 2 + [False] * 6 + [True] * 2


def test_a_read_of_a_thousandth_of_a_pixel_is_still_seen() -> None:
    lane = lane_of(record(Event.FETCH, 500.0, 500.001, request=1, lane=1))
    shown = columns([lane], 0, 1000 * MS, 10)
    assert shown is not None
    assert np.flatnonzero(shown.alpha[0]).tolist() == [5]


def test_a_column_is_as_opaque_as_it_is_covered() -> None:
    lane = lane_of(group(0, 10, 0), group(10, 12, 0), group(20, 30, 0))
    shown = columns([lane], 0, 30 * MS, 3)
    assert shown is not None
    full, little, _ = shown.alpha[0].tolist()
    assert little < full


def test_lanes_that_are_looked_up_together_do_not_mix() -> None:
    first = lane_of(record(Event.FETCH, 0, 4, request=1, lane=1))
    second = lane_of(record(Event.FETCH, 6, 10, request=2, lane=2))
    nothing = Lane(10)
    shown = columns([first, nothing, second], 0, 10 * MS, 10)
    assert shown is not None
    assert (shown.alpha > 0).astype(int).tolist() == [
        [1, 1, 1, 1, 0, 0, 0, 0, 0, 0],
        [0] * 10,
        [0, 0, 0, 0, 0, 0, 1, 1, 1, 1],
    ]
    pixels = reader_pixels(shown, np.array([0, -1, 2]), SHADES)
    assert pixels[0, 0] & 0xFFFFFF == 0x11
    assert pixels[2, 9] & 0xFFFFFF == 0x12
    assert not pixels[1].any()


def test_many_short_records_look_the_same_as_their_window_moves_by_whole_columns() -> None:
    rng = np.random.default_rng(0)
    begins = np.cumsum(rng.uniform(0.05, 0.4, 4000))
    lane = lane_of(*(record(Event.FETCH, b, b + 0.04, request=i % 3) for i, b in enumerate(begins)))
    one = columns([lane], 700 * MS, 900 * MS, 100)
    other = columns([lane], 702 * MS, 902 * MS, 100)
    assert one is not None and other is not None
    assert one.alpha[0, 1:].tolist() == other.alpha[0, :-1].tolist()


def test_a_prefetch_is_hatched_and_a_fetch_is_not() -> None:
    lane = lane_of(
        record(Event.FETCH, 0, 10, request=0, lane=1),
        record(Event.PREFETCH, 10, 20, request=0, lane=1),
    )
    shown = columns([lane], 0, 20 * MS, 40)
    assert shown is not None
    alpha = reader_pixels(shown, np.zeros(8, dtype=np.int64), SHADES) >> 24
    assert len(np.unique(alpha[:, 2:18])) == 1
    assert len(np.unique(alpha[:, 22:38])) == 2


def test_the_view_follows_and_shows_a_few_steps() -> None:
    history = played()
    view = TimelineView(history.lanes)
    view.refresh()
    begin, end = view.window()
    assert end == history.latest_ns
    n_steps = len(history.lanes.steps.records[history.lanes.steps.window(begin, end)])
    assert 2 <= n_steps <= 12


def test_a_frozen_view_keeps_what_the_history_forgets() -> None:
    history = played()
    view = TimelineView(history.lanes)
    view.freeze()
    window, n_device = view.window(), len(view.lanes.device)
    late = MadeUpRecords(1).next_step([0])
    for name in ("begin_ns", "end_ns"):
        late[name] += 200 * 10**9
    history.add(late)
    history.update_lanes()
    assert len(history.lanes.device) < n_device
    assert (view.window(), len(view.lanes.device)) == (window, n_device)
    view.follow()
    assert view.window()[1] == history.latest_ns


def test_zooming_keeps_what_is_under_the_pointer() -> None:
    view = TimelineView(played(40).lanes)
    view.refresh()
    view.freeze()
    begin, end = view.window()
    under = begin + 0.25 * (end - begin)
    view.zoom(0.5, 0.25)
    begin, end = view.window()
    assert begin + 0.25 * (end - begin) == pytest.approx(under, abs=2)


@pytest.fixture
def timeline(qtbot: QtBot, theme: Theme) -> Timeline:
    history = played()
    timeline = Timeline(history, theme)
    qtbot.addWidget(timeline)
    timeline.resize(800, 240)
    timeline.show()
    timeline.show_newest()
    qtbot.waitExposed(timeline)
    return timeline


def test_dragging_pauses_and_goes_back_in_time(qtbot: QtBot, timeline: Timeline) -> None:
    before = timeline.view.window()
    with qtbot.waitSignal(timeline.frozen_changed):
        qtbot.mousePress(timeline, Qt.MouseButton.LeftButton, pos=QPoint(300, 100))
        qtbot.mouseMove(timeline, QPoint(400, 100))
        qtbot.mouseRelease(timeline, Qt.MouseButton.LeftButton, pos=QPoint(400, 100))
    assert timeline.view.frozen
    assert timeline.view.window()[0] < before[0]


def test_space_pauses_and_follows_again(qtbot: QtBot, timeline: Timeline) -> None:
    qtbot.keyClick(timeline, Qt.Key.Key_Space)
    assert timeline.view.frozen
    qtbot.keyClick(timeline, Qt.Key.Key_Space)
    assert not timeline.view.frozen


def test_a_double_click_fits_the_step_and_another_one_follows_again(
    qtbot: QtBot, timeline: Timeline
) -> None:
    qtbot.mouseDClick(timeline, Qt.MouseButton.LeftButton, pos=QPoint(400, 100))
    steps = timeline.view.lanes.steps
    begin, end = timeline.view.window()
    inside = steps.records[steps.window(begin, end)]
    fitted = inside[(inside["begin_ns"] >= begin) & (inside["end_ns"] <= end)]
    assert len(fitted) == 1
    assert end - begin < 1.1 * int(fitted["end_ns"][0] - fitted["begin_ns"][0])
    qtbot.mouseDClick(timeline, Qt.MouseButton.LeftButton, pos=QPoint(400, 100))
    assert not timeline.view.frozen


def test_the_pointer_hears_what_is_under_it(timeline: Timeline) -> None:
    timeline.set_frozen(True)
    lanes = timeline.view.lanes
    begin, end = timeline.view.window()
    layout = timeline._layout(timeline.width(), timeline.height())

    def place(time_ns: int, y: float) -> QPointF:
        share = (time_ns - begin) / (end - begin)
        return QPointF(layout.device.left() + share * layout.device.width(), y)

    groups = lanes.device.records[lanes.device.records["event"] == int(Event.GROUP)]
    widest = groups[groups["begin_ns"] > begin]
    one = widest[np.argmax(widest["end_ns"] - widest["begin_ns"])]
    middle = (int(one["begin_ns"]) + int(one["end_ns"])) // 2
    told = timeline.text_at(place(middle, layout.device.center().y()))
    assert f"Layer {one['layer']}" in told
    assert "ms" in told
    assert "request" in told
    number, rect = next(iter(layout.readers.items()))
    reads = lanes.readers[number].records
    read = reads[reads["begin_ns"] > begin][0]
    middle = (int(read["begin_ns"]) + int(read["end_ns"])) // 2
    told = timeline.text_at(place(middle, rect.center().y()))
    assert f"Layer {read['layer']}, expert {read['expert']}" in told
    assert "GB/s" in told
    assert timeline.text_at(QPointF(2, 2)) == ""


def test_the_picture_shows_the_colours_of_the_requests(
    timeline: Timeline, theme: Theme, tmp_path: Path
) -> None:
    path = tmp_path / "timeline.png"
    timeline.export_png(path)
    image = QImage(str(path))
    assert image.width() == 2 * timeline.width()
    seen = {image.pixel(x, y) for y in range(0, image.height(), 4) for x in range(0, 1600, 1)}
    for colour in theme.palette.request_colours[:3]:
        assert QColor(colour).rgb() in seen


def test_a_picture_that_cannot_be_written_leaves_the_earlier_one(
    timeline: Timeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "pictures" / "timeline.png"
    path.parent.mkdir()
    path.write_bytes(b"earlier")
    monkeypatch.setattr("engine.atomic_file.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        timeline.export_png(path)
    assert [each.read_bytes() for each in path.parent.iterdir()] == [b"earlier"]


def test_a_picture_for_which_there_is_no_memory_is_not_written(
    timeline: Timeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "timeline.png"
    path.write_bytes(b"earlier")
    monkeypatch.setattr(timeline, "picture", lambda size: QImage())
    with pytest.raises(OSError, match="not enough memory"):
        timeline.export_png(path)
    assert path.read_bytes() == b"earlier"


def test_a_timeline_without_records_says_what_will_be_there(qtbot: QtBot, theme: Theme) -> None:
    timeline = Timeline(History(), theme)
    qtbot.addWidget(timeline)
    image = timeline.picture(QSize(400, 200), 1.0)
    blank = QColor(theme.palette.raised).rgb()
    assert any(image.pixel(x, 100) != blank for x in range(400))
