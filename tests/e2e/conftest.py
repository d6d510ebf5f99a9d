"""The real app in a data folder of its own, with a model of a few MB."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from tests.e2e.real_app import RealApp, engine_pids
from tests.helpers.app_fixtures import *  # noqa: F403, pytest finds fixtures by their names here
from tests.helpers.models import tiny_model


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
