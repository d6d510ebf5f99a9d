"""Settings: values are checked, saved whole, and nothing in the file is lost."""

import errno
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.settings import options, settings_file
from app.settings.option import OptionError
from app.settings.sampling_preset import BALANCED, BUILT_IN, MODELS_OWN, SamplingPreset
from app.settings.settings import Settings
from engine.cache_size import CacheSize
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.recommended_sampling import RecommendedSampling
from engine.sampling import SamplingParams


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "settings.json"


@pytest.fixture
def opened(qtbot: QtBot, path: Path) -> Iterator[Settings]:
    settings = Settings(path)
    yield settings
    settings.close()


def reopened(path: Path) -> Settings:
    return Settings(path)


def write(path: Path, **values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


@pytest.mark.parametrize("option", options.OPTIONS, ids=lambda option: option.name)
def test_every_default_is_a_value_that_its_option_may_have(option: options.Option) -> None:
    if option.kind != "presets":
        assert option.checked(option.default) == option.default


@pytest.mark.parametrize("option", [o for o in options.OPTIONS if o.section], ids=lambda o: o.name)
def test_every_option_on_the_page_says_what_it_is_and_does(option: options.Option) -> None:
    assert option.label and option.help.endswith(".")


def test_engine_defaults_are_those_of_the_engine(opened: Settings) -> None:
    assert opened.engine_options() == EngineOptions()


def test_a_value_survives_closing_and_opening(opened: Settings, path: Path) -> None:
    opened.set("font_size", 14)
    opened.set("link", "2GB/s")
    opened.set("open_chats", ["a", "b"])
    opened.close()
    again = reopened(path)
    assert again.get("font_size") == 14
    assert again.link == LinkSpeed(2 * 10**9)
    assert again.get("open_chats") == ("a", "b")
    assert again.notices == ()


def test_a_change_is_told_once_and_an_equal_value_not_at_all(opened: Settings) -> None:
    told: list[str] = []
    opened.changed.connect(told.append)
    opened.set("theme", "dark")
    opened.set("theme", "dark")
    opened.reset("theme")
    opened.reset("theme")
    assert told == ["theme", "theme"]
    assert opened.is_default("theme")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("font_size", 200),
        ("font_size", True),
        ("font_size", "11"),
        ("max_requests", 2.5),
        ("cache_fraction", float("nan")),
        ("theme", "pink"),
        ("link", "fast"),
        ("show_thinking", 1),
        ("open_chats", "abc"),
        ("presets", [{"name": "x", "params": {"temperature": -1}}]),
        ("presets", [{"name": "x", "params": {}}, {"name": "x", "params": {}}]),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_changes_nothing(
    opened: Settings, name: str, value: object
) -> None:
    before = opened.get(name)
    with pytest.raises(OptionError):
        opened.set(name, value)
    assert opened.get(name) == before


def test_an_unknown_option_is_an_error_of_the_caller(opened: Settings) -> None:
    with pytest.raises(KeyError):
        opened.set("no_such_option", 1)
    with pytest.raises(KeyError):
        opened.get("no_such_option")


def test_bad_values_in_the_file_are_told_and_defaulted_and_the_rest_is_used(
    qtbot: QtBot, path: Path
) -> None:
    write(path, version=1, font_size=9999, theme="dark", link=7)
    settings = reopened(path)
    assert settings.get("theme") == "dark"
    assert settings.is_default("font_size")
    assert settings.link == LinkSpeed()
    assert len(settings.notices) == 2
    assert any("Font size is 9999" in notice for notice in settings.notices)


def test_a_preset_that_cannot_be_costs_no_other_one_and_is_kept_in_a_copy_of_the_file(
    qtbot: QtBot, path: Path
) -> None:
    presets = [
        {"name": "Mine", "params": {"temperature": 0.5}},
        {"name": "Wrong", "params": {"temperature": -1}},
        {"name": "Mine", "params": {}},
        "none",
        {"name": "Ours", "params": {}},
    ]
    write(path, version=1, presets=presets)
    written = path.read_bytes()
    settings = reopened(path)
    assert [each.name for each in settings.get("presets")[-2:]] == ["Mine", "Ours"]
    assert settings.preset("Mine").params.temperature == 0.5
    (notice,) = settings.notices
    settings.set("theme", "dark")
    settings.close()
    kept = path.with_name("settings.with-errors.json")
    assert kept.read_bytes() == written
    assert kept.name in notice
    again = reopened(path)
    assert again.notices == ()
    assert [each.name for each in again.get("presets")[-2:]] == ["Mine", "Ours"]


@pytest.mark.parametrize("name", ["font_size", "cache_fraction", "context", "keep_runs_bytes"])
@pytest.mark.parametrize("value", [10**400, -(10**400)], ids=["huge", "minus huge"])
def test_a_number_that_no_computer_counts_to_is_told_and_defaulted(
    qtbot: QtBot, path: Path, name: str, value: int
) -> None:
    write(path, version=1, theme="dark", **{name: value})
    settings = reopened(path)
    assert settings.get("theme") == "dark"
    assert settings.is_default(name)
    assert len(settings.notices) == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("context", "must be from 256 to 1048576"),
        ("keep_runs_bytes", "must be from 10 MB to 1.099511627776 TB"),
        ("font_size", "must be from 8 to 24"),
    ],
)
def test_what_a_number_may_be_is_told_as_people_write_it(
    opened: Settings, name: str, said: str
) -> None:
    with pytest.raises(OptionError, match=f"{said}$"):
        opened.set(name, 1)


def test_unknown_keys_are_kept(qtbot: QtBot, path: Path) -> None:
    write(path, version=1, from_the_future={"a": [1, 2]}, theme="dark")
    settings = reopened(path)
    settings.set("font_size", 12)
    settings.close()
    assert json.loads(path.read_text()) == {
        "version": 1,
        "from_the_future": {"a": [1, 2]},
        "theme": "dark",
        "font_size": 12,
    }


def test_a_file_of_a_newer_version_is_kept_untouched_beside(qtbot: QtBot, path: Path) -> None:
    write(path, version=7, theme="dark", font_size="large")
    before = path.read_bytes()
    settings = reopened(path)
    assert settings.get("theme") == "dark"
    assert any("newer Runahead" in notice for notice in settings.notices)
    settings.close()
    assert path.read_bytes() == before, "reading alone changes nothing"
    settings.set("font_size", 12)
    settings.close()
    assert path.with_name("settings.version-7.json").read_bytes() == before
    assert json.loads(path.read_text())["version"] == settings_file.VERSION


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1, 2]", "\x00" * 500, '{"version": "x"}', "[" * 5000, f'{{"version": {10**300}}}'],
)
def test_a_damaged_file_is_kept_and_defaults_are_used(qtbot: QtBot, path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    settings = reopened(path)
    assert settings.notices
    assert all(settings.is_default(option.name) for option in options.OPTIONS)
    settings.set("theme", "dark")
    settings.close()
    kept = [each for each in path.parent.iterdir() if each != path]
    assert [each.read_text() for each in kept] == [text]
    assert reopened(path).get("theme") == "dark"


def test_many_quick_changes_become_one_write(
    opened: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[dict[str, Any]] = []
    monkeypatch.setattr(settings_file, "save", lambda path, values, keep: written.append(values))
    for percent in range(10, 60):
        opened.set("cache_fraction", percent / 100)
    opened.flush()
    opened.flush()
    assert written == [{"cache_fraction": 0.59}]


def test_a_change_reaches_the_disk_without_closing(
    qtbot: QtBot, opened: Settings, path: Path
) -> None:
    opened.set("theme", "light")
    qtbot.waitUntil(path.exists, timeout=5000)
    opened.flush()
    assert json.loads(path.read_text())["theme"] == "light"


def test_a_full_disk_is_told_the_old_file_stays_and_saving_is_tried_again(
    qtbot: QtBot, opened: Settings, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.set("theme", "light")
    opened.flush()
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("engine.atomic_file.os.fsync", full)
        with qtbot.waitSignal(opened.failed) as told:
            opened.set("theme", "dark")
            opened.flush()
    assert "No space left on device" in told.args[0]
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    opened.flush()
    assert reopened(path).get("theme") == "dark"


def test_presets_are_the_built_in_ones_and_the_users(opened: Settings, path: Path) -> None:
    mine = SamplingPreset("Mine", SamplingParams(temperature=0.4), fixed_seed=True)
    opened.set("presets", [*opened.presets, mine])
    assert opened.presets == (*BUILT_IN, mine)
    opened.close()
    again = reopened(path)
    assert again.get("presets") == (*BUILT_IN, mine)
    assert again.preset("Mine") == mine
    assert again.preset("Gone").name == "Model's own"


def test_replies_draw_their_own_seed_unless_the_preset_fixes_it() -> None:
    free = SamplingPreset("Free", SamplingParams())
    assert len({free.new_params(RecommendedSampling()).seed for _ in range(8)}) > 1
    fixed = SamplingPreset("Fixed", SamplingParams(seed=5), fixed_seed=True)
    assert fixed.new_params(RecommendedSampling()) == fixed.params


def test_only_the_preset_of_the_model_follows_what_it_recommends() -> None:
    recommended = RecommendedSampling(temperature=0.3, top_k=5)
    found = MODELS_OWN.new_params(recommended)
    assert (found.temperature, found.top_k) == (0.3, 5)
    assert found.top_p == BALANCED.params.top_p
    assert MODELS_OWN.params_for(RecommendedSampling()) == BALANCED.params
    assert all(p.params_for(recommended) == p.params for p in BUILT_IN if p != MODELS_OWN)


def test_engine_options_come_from_the_settings(opened: Settings) -> None:
    opened.set("cache_fraction", 1.0)
    opened.set("context", 8192)
    opened.set("store", "gguf")
    made = opened.engine_options(trained_context=2048)
    assert made.cache == CacheSize()
    assert made.context == 2048
    assert made.store == "gguf"
    assert opened.engine_options().context == 8192
