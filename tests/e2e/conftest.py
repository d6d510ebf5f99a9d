"""The real app in a data folder of its own, with a model of a few MB."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from tests.e2e.real_app import RealApp, engine_pids
from tests.helpers.models import tiny_model
from tests.helpers.widgets import delete_all, delete_widgets


@pytest.fixture(scope="session", autouse=True)
def nothing_outlives_the_tests(qapp: QApplication) -> Iterator[None]:
    yield
    delete_all()


@pytest.fixture(autouse=True)
def no_widget_outlives_its_test(qapp: QApplication) -> Iterator[None]:
    yield
    delete_widgets()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("RUNAHEAD_HOME", str(folder))
    return folder


@pytest.fixture
def model() -> Path:
    return tiny_model()


@pytest.fixture
def start_app(qapp: QApplication, home: Path) -> Iterator[Callable[[], RealApp]]:
    """Starts the app; afterwards it is closed, and no engine is left."""
    started: list[RealApp] = []

    def start() -> RealApp:
        app = RealApp()
        started.append(app)
        return app

    yield start
    for app in started:
        app.close()
    assert engine_pids() == []
