"""The real app with the real engine: chats at once, the slider, the run log, and starting again."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.runs.runs_page import RunsPage
from app.theme.style_sheet import style_sheet
from engine.cache_size import CacheSize
from engine.engine_info import CacheChange
from tests.e2e.real_app import RealApp, is_alive, wait, wait_until

QUESTIONS = ("Why is the sky blue?", "Name a river.", "Count to ten.", "Tell me about Rome.")
LONG = 360

StartApp = Callable[[], RealApp]


def drag(app: RealApp, to: float) -> None:
    """Take the slider's handle to a share of its range, a little further each time, and let go."""
    slider = app.window.pages.monitor.cache_card.slider
    slider.setSliderDown(True)
    begin = slider.value()
    for n in range(1, 9):
        slider.setSliderPosition(round(begin + (to * slider.maximum() - begin) * n / 8))
        wait(0.04)
    slider.setSliderDown(False)


@pytest.mark.slow
def test_a_day_with_the_app(start_app: StartApp, model: Path, tmp_path: Path) -> None:
    app = start_app()
    app.settings.set("link", "120MB/s")  # slow enough that the slider is dragged while text streams
    app.use_preset(max_tokens=LONG)
    app.add_and_load(model)

    # Four chats and one that is stopped, all at once, while the slider goes down and up.
    app.window.show_dock(True)
    changes: list[CacheChange] = []
    n_streaming_then: list[int] = []
    app.service.cache_changed.connect(changes.append)
    app.service.cache_changed.connect(
        lambda _: n_streaming_then.append(sum(r.n_tokens > 0 for r in app.service.replies))
    )
    views = [app.ask_in_new_tab(question) for question in QUESTIONS]
    stopped = app.ask_in_new_tab(QUESTIONS[0])
    chats = [view.chat for view in views]
    wait_until(
        lambda: len(app.service.replies) == 5 and all(r.n_tokens for r in app.service.replies),
        "five replies stream at once",
    )
    drag(app, 0.15)
    drag(app, 0.9)
    drag(app, 0.3)
    assert stopped.chat.is_streaming
    QTest.keyClick(stopped, Qt.Key.Key_Escape)
    wait_until(lambda: not stopped.chat.is_streaming, "the reply is stopped", 5)
    wait_until(lambda: not app.service.replies, "all have ended")
    sizes = [change.cache_bytes for change in changes]
    assert len(set(sizes)) >= 4
    assert min(sizes) < sizes[-1] < max(sizes)
    assert sum(n >= 4 for n in n_streaming_then) >= 4, "the cache was resized while text streamed"

    with_slider = [chat.messages[-1] for chat in chats]
    for message in with_slider:
        assert (message.state, message.result and message.result.reason) == ("done", "length")
        assert message.result and message.result.n_tokens == LONG
    partial = stopped.chat.messages[-1]
    assert (partial.state, partial.result and partial.result.reason) == ("stopped", "cancelled")
    assert partial.result and 0 < partial.result.n_tokens < LONG
    assert partial.text and with_slider[0].text.startswith(partial.text)

    # The same without the slider: the same texts, to the letter.
    app.settings.set("link", "full")
    again = [app.ask_in_new_tab(question) for question in QUESTIONS]
    wait_until(lambda: not app.service.replies, "all have ended again")
    assert [v.chat.messages[-1].text for v in again] == [m.text for m in with_slider]
    assert len({m.text for m in with_slider}) == len(QUESTIONS)

    # The run log, from the page of runs.
    app.window.show_page("runs")
    runs = app.window.pages.get("runs")
    assert isinstance(runs, RunsPage)
    wait_until(runs.index.all, "the run is listed")
    run = runs.index.all()[0]
    exported = {form: tmp_path / f"run.{form}" for form in ("jsonl", "csv", "chrome")}
    for form, path in exported.items():
        runs.export_to(run, path, form)  # type: ignore[arg-type]
        wait_until(lambda: runs.export.active is None, f"the run is exported as {form}")
        assert path.stat().st_size > 1000
    assert json.loads(exported["chrome"].read_text())["traceEvents"]

    # Quit, start again: everything is still there.
    app.window.show_page("monitor")
    texts = {c.id: [m.text for m in app.messages(c.id)] for c in app.conversations.all()}
    tabs = app.chats.tabs.ids
    engine = app.engine_pid
    cache = app.settings.get("cache_fraction")
    app.close()
    wait_until(lambda: not is_alive(engine), "the engine has ended", 5)

    app = start_app()
    assert app.window.page == "monitor"
    assert app.settings.get("preset") == "Test"
    assert app.settings.get("cache_fraction") == cache
    assert {c.id: [m.text for m in app.messages(c.id)] for c in app.conversations.all()} == texts
    assert app.messages(chats[0].id)[-1].result == with_slider[0].result
    assert [known.path for known in app.library.all()] == [model]
    app.window.show_page("chats")
    assert app.chats.tabs.ids == tabs
    last = app.window.opener.last_model
    assert last and last.path == model
    app.load(model)
    options = app.service.state.options
    assert options and options.cache == CacheSize(fraction=cache)
    app.use_preset(max_tokens=20)
    view = app.view(tabs[0])
    app.ask(view, "And why is it red in the evening?")
    wait_until(lambda: not app.service.replies, "the chat goes on")
    assert [m.role for m in view.chat.messages] == ["user", "assistant"] * 2
    assert view.chat.messages[-1].state == "done"


@pytest.mark.parametrize("page", ["subtasks", "monitor", "models", "runs", "settings"])
def test_every_page_opens_while_text_streams(start_app: StartApp, model: Path, page: str) -> None:
    app = start_app()
    app.use_preset(max_tokens=60)
    app.add_and_load(model)
    view = app.ask_in_new_tab(QUESTIONS[0])
    app.window.show_page(page)
    wait_until(lambda: not app.service.replies, "the reply has ended")
    assert view.chat.messages[-1].state == "done"
    app.window.show_page("chats")
    assert app.view(view.chat.id).isVisible()


def test_the_app_that_tests_drive_looks_as_the_true_one_does(start_app: StartApp) -> None:
    app = start_app()
    app.settings.set("theme", "light")
    qt = QApplication.instance()
    assert isinstance(qt, QApplication)
    assert qt.styleSheet() == style_sheet(app.theme.palette, app.theme.font_size, dark=False)
    assert app.window.font().pointSizeF() == app.settings.get("font_size")
    app.settings.set("theme", "dark")
    assert app.theme.is_dark
    assert qt.styleSheet() == style_sheet(app.theme.palette, app.theme.font_size, dark=True)
    app.close()
    assert qt.styleSheet() == ""
