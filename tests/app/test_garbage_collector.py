"""Cycles of references end in the window's thread, whoever makes them."""

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.garbage_collector import GarbageCollector


class Knot:
    """Refers to itself."""

    def __init__(self) -> None:
        self.myself = self


@pytest.fixture
def collected_by_python() -> Iterator[None]:
    """As in a program without a GarbageCollector."""
    was_enabled = gc.isenabled()
    gc.enable()
    yield
    if not was_enabled:
        gc.disable()


def ended_in(qtbot: QtBot, *, wait_for_all: bool) -> set[threading.Thread]:
    """The threads in which knots ended that another thread had made, many of them."""
    n, ended = 5000, []

    def make() -> None:
        for _ in range(n):
            weakref.finalize(Knot(), lambda: ended.append(threading.current_thread()))

    maker = threading.Thread(target=make)
    maker.start()
    maker.join()
    if wait_for_all:
        qtbot.waitUntil(lambda: len(ended) > 0.9 * n)
    return set(ended)


def test_python_itself_collects_in_any_thread(qtbot: QtBot, collected_by_python: None) -> None:
    ended = ended_in(qtbot, wait_for_all=False)
    assert ended
    assert threading.main_thread() not in ended


def test_only_the_windows_thread_collects(qtbot: QtBot, collected_by_python: None) -> None:
    collector = GarbageCollector(interval_ms=10)
    assert ended_in(qtbot, wait_for_all=True) == {threading.main_thread()}
    collector.close()
    assert gc.isenabled()


def test_nothing_is_collected_before_there_is_much(collected_by_python: None) -> None:
    collector = GarbageCollector()
    gc.collect()
    knot = weakref.ref(Knot())
    collector.collect()
    assert knot() is not None
    collector.close()
