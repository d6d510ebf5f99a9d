"""Fixtures of all tests that open widgets; each folder's conftest imports them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from app.garbage_collector import GarbageCollector
from tests.helpers.widgets import delete_all, delete_widgets

__all__ = ["collector", "home", "no_widget_outlives_its_test", "nothing_outlives_the_tests"]


@pytest.fixture(scope="session", autouse=True)
def nothing_outlives_the_tests(qapp: QApplication) -> Iterator[None]:
    yield
    delete_all()


@pytest.fixture(scope="session")
def collector(qapp: QApplication) -> Iterator[GarbageCollector]:
    """As in the app: what widgets are left in cycles is never deleted in another thread."""
    collector = GarbageCollector()
    yield collector
    collector.close()


@pytest.fixture(autouse=True)
def no_widget_outlives_its_test(collector: GarbageCollector) -> Iterator[None]:
    yield
    delete_widgets()
    collector.collect()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("RUNAHEAD_HOME", str(folder))
    return folder
