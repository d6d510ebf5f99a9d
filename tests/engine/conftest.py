"""Every test has its own data folder; `fake` puts the fake in the native module's place."""

import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import native
from tests.helpers import fake_native


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("RUNAHEAD_HOME", str(folder))
    return folder


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    monkeypatch.setattr(native, "_module", lambda: fake_native)
    yield fake_native
    fake_native.faults.clear()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return fake_native.write_model(tmp_path / "fake.gguf")
