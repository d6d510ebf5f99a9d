"""Folders: the environment decides, then the settings, then the system."""

import json
from pathlib import Path

import pytest

from app import folders
from engine.errors import StorageError


@pytest.fixture(autouse=True)
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's own folders, all below tmp_path."""
    monkeypatch.delenv("RUNAHEAD_HOME", raising=False)
    monkeypatch.setattr("engine.folders.platformdirs.user_config_path", lambda app: tmp_path / "c")
    monkeypatch.setattr("engine.folders.platformdirs.user_data_path", lambda app: tmp_path / "d")
    monkeypatch.setattr("engine.folders.platformdirs.user_cache_path", lambda app: tmp_path / "x")
    return tmp_path


def choose(folder: str) -> None:
    folders.settings_file().parent.mkdir(exist_ok=True)
    folders.settings_file().write_text(json.dumps({"version": 1, "data_folder": folder}))


def test_the_system_says_where_files_lie(system: Path) -> None:
    assert folders.settings_file() == system / "c" / "settings.json"
    assert folders.database().parent == system / "d"
    assert folders.run_logs() == system / "d" / "runs"
    assert folders.packs() == system / "x" / "packs"
    assert not folders.fixed_by_environment()


def test_the_settings_may_name_a_data_folder_for_all_but_themselves(system: Path) -> None:
    choose(str(system / "big"))
    assert folders.packs() == system / "big" / "packs"
    assert folders.database().parent == system / "big"
    assert folders.settings_file() == system / "c" / "settings.json"


def test_the_environment_holds_everything(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(str(system / "big"))
    monkeypatch.setenv("RUNAHEAD_HOME", str(system / "home"))
    assert folders.settings_file() == system / "home" / "settings.json"
    assert folders.crash_reports() == system / "home" / "crash-reports"
    assert folders.packs() == system / "home" / "packs"
    assert folders.fixed_by_environment()


@pytest.mark.parametrize("text", ["", "{", '{"data_folder": 7}', "[]"])
def test_damaged_settings_mean_the_usual_places(system: Path, text: str) -> None:
    choose("")
    folders.settings_file().write_text(text)
    assert folders.data() == system / "d"


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("~nobody-of-that-name/x", "nobody knows the home folder ~nobody-of-that-name"),
        ("a\0b", "which no folder can be called"),
    ],
)
def test_what_can_be_no_folder_is_said_to_be_none(system: Path, folder: str, why: str) -> None:
    choose(folder)
    with pytest.raises(StorageError, match=rf"settings\.json.*{why}"):
        folders.data()


def test_the_environment_may_name_no_strange_home(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNAHEAD_HOME", "~nobody-of-that-name")
    for place in (folders.settings_file, folders.data, folders.packs, folders.run_logs):
        with pytest.raises(StorageError, match="RUNAHEAD_HOME is ~nobody-of-that-name"):
            place()
