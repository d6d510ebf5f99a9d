"""The library keeps what it knows, whatever happens to its file or to the models' files."""

import errno
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pytestqt.qtbot import QtBot

from app.models import library_file
from app.models.choices import ModelChoices, options_for
from app.models.library import ModelLibrary, OtherModelError
from app.settings.settings import Settings
from engine.cache_size import CacheSize
from engine.model_info import ModelInfo
from engine.pack import pack_path
from tests.helpers.fake_jobs import model_info


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "models.json"


@pytest.fixture
def library(qtbot: QtBot, path: Path) -> Iterator[ModelLibrary]:
    library = ModelLibrary(path)
    yield library
    library.close()


def model_file(folder: Path, name: str = "a.gguf") -> ModelInfo:
    (folder / name).write_bytes(b"GGUF")
    return model_info(folder / name)


def reopened(library: ModelLibrary) -> ModelLibrary:
    library.close()
    return ModelLibrary(library.path)


def test_what_was_added_and_chosen_is_there_again(library: ModelLibrary, tmp_path: Path) -> None:
    model = library.add(model_file(tmp_path))
    choices = ModelChoices(store="gguf", cache=CacheSize(fraction=0.5), context=2048)
    library.choose(model.id, choices)
    again = reopened(library)
    assert [m.title for m in again.all()] == ["a"]
    assert again.get(model.id).choices == choices
    assert again.get(model.id).info.metadata == []
    again.close()


def test_what_a_file_calls_itself_is_kept_as_far_as_anybody_reads(
    library: ModelLibrary, tmp_path: Path
) -> None:
    long = "ab c" * 1_000_000
    info = msgspec.structs.replace(
        model_file(tmp_path), name=long, architecture=long, reason=long, supported=False
    )
    model = library.add(info)
    assert model.title.startswith("ab c") and len(model.title) < 300
    assert len(model.info.architecture) < 300
    assert len(model.info.reason) < 2000
    library.reread(model.id, info)
    library.close()
    assert library.path.stat().st_size < 10_000


def test_what_was_removed_is_not_looked_at(library: ModelLibrary, tmp_path: Path) -> None:
    model = library.add(model_file(tmp_path))
    library.remove(model.id)
    library.look_at(model.id)


def test_adding_the_same_file_twice_keeps_one(library: ModelLibrary, tmp_path: Path) -> None:
    info = model_file(tmp_path)
    first = library.add(info)
    assert library.add(info).id == first.id
    assert len(library.all()) == 1


def test_a_damaged_file_is_told_and_kept_aside(qtbot: QtBot, path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"format": 1, "models": [{"id"')
    library = ModelLibrary(path)
    assert library.all() == []
    (notice,) = library.notices
    (copy,) = path.parent.glob("models-damaged-*.json")
    assert str(copy) in notice
    assert copy.read_bytes() == b'{"format": 1, "models": [{"id"'
    library.close()


@pytest.mark.parametrize(
    ("refuses", "text"), [("read_bytes", b'{"format": 1}'), ("write_bytes", b'{"format": 1, "mo')]
)
def test_a_list_that_could_not_be_read_or_copied_is_kept_when_another_takes_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: Path, refuses: str, text: bytes
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path.parent.mkdir()
    path.write_bytes(text)
    with monkeypatch.context() as patch:
        patch.setattr(Path, refuses, refuse)
        library = ModelLibrary(path)
    assert path.read_bytes() == text
    library.add(model_file(tmp_path))
    library.close()
    (kept,) = path.parent.glob("models-*.json")
    assert kept.read_bytes() == text
    assert kept.name in library.notices[0]
    assert [m.title for m in ModelLibraryCopy(path)] == ["a"]


@pytest.mark.parametrize("text", [b"\x00" * 64560, b"[]", b'"\xff"', b"", b'{"format": "one"}'])
def test_no_content_of_the_file_stops_the_start(qtbot: QtBot, path: Path, text: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(text)
    library = ModelLibrary(path)
    assert library.all() == []
    assert len(library.notices) == 1
    library.close()


def test_one_bad_entry_does_not_take_the_others_along(
    library: ModelLibrary, tmp_path: Path, path: Path
) -> None:
    library.add(model_file(tmp_path, "a.gguf"))
    library.add(model_file(tmp_path, "b.gguf"))
    library.close()
    kept: dict[str, Any] = json.loads(path.read_text())
    del kept["models"][0]["info"]["n_layer"]
    path.write_text(json.dumps(kept))
    again = ModelLibrary(path)
    assert [m.title for m in again.all()] == ["b"]
    assert "1 models of the list could not be read" in again.notices[0]
    assert list(path.parent.glob("models-damaged-*.json"))
    again.close()


def test_a_list_of_a_newer_version_is_left_as_it_is(qtbot: QtBot, path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"format": 2, "models": [{"new": true}]}')
    library = ModelLibrary(path)
    library.close()
    (copy,) = path.parent.glob("models-damaged-*.json")
    assert copy.read_text() == '{"format": 2, "models": [{"new": true}]}'


@pytest.mark.parametrize("changes", [True, False])
def test_a_full_disk_is_told_and_nothing_is_lost(
    qtbot: QtBot,
    library: ModelLibrary,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: Path,
    changes: bool,
) -> None:
    def full(path: Path, models: object, keep_as: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(library_file, "save", full)
        with qtbot.waitSignal(library.failed) as failed:
            library.add(model_file(tmp_path))
    assert "No space left on device" in failed.args[0]
    if changes:  # there is room again
        library.choose(library.all()[0].id, ModelChoices(context=512))
    library.close()
    assert [m.title for m in ModelLibraryCopy(path)] == ["a"]


def ModelLibraryCopy(path: Path) -> list[Any]:
    return list(library_file.load(path).models)


def test_a_missing_file_is_seen_and_seen_again_when_it_is_back(
    qtbot: QtBot, library: ModelLibrary, tmp_path: Path
) -> None:
    model = library.add(model_file(tmp_path))
    moved = model.path.rename(tmp_path / "elsewhere")
    library.look()
    qtbot.waitUntil(lambda: library.state(model.id).missing == (str(model.path),))
    moved.rename(model.path)
    library.look()
    qtbot.waitUntil(lambda: library.state(model.id).missing == ())


def test_a_model_is_found_where_it_was_moved_and_no_other_takes_its_place(
    library: ModelLibrary, tmp_path: Path
) -> None:
    model = library.add(model_file(tmp_path))
    library.choose(model.id, ModelChoices(context=512))
    moved = msgspec.structs.replace(
        model.info, path=str(tmp_path / "b.gguf"), files=model.info.files
    )
    with pytest.raises(OtherModelError, match="another model"):
        other = msgspec.structs.replace(moved, fingerprint=1)
        library.locate(model.id, other)
    found = library.locate(model.id, moved)
    assert found.id == model.id
    assert found.path == tmp_path / "b.gguf"
    assert found.choices == ModelChoices(context=512)


def test_a_file_that_was_replaced_is_seen_and_its_old_pack_remembered(
    qtbot: QtBot, library: ModelLibrary, tmp_path: Path
) -> None:
    info = model_file(tmp_path)
    model = library.add(info)
    old_pack = pack_path(info)
    old_pack.parent.mkdir(parents=True)
    old_pack.write_bytes(b"RUNAPACK")
    model.path.write_bytes(b"GGUF, but longer")
    library.look()
    qtbot.waitUntil(lambda: library.state(model.id).changed)
    new = msgspec.structs.replace(info, fingerprint=99)
    library.reread(model.id, new)
    qtbot.waitUntil(lambda: library.state(model.id).pack.kind == "stale")
    assert library.state(model.id).pack.path == str(old_pack)
    assert not library.state(model.id).changed


def test_removing_can_be_undone(library: ModelLibrary, tmp_path: Path) -> None:
    model = library.add(model_file(tmp_path))
    library.remove(model.id)
    assert library.all() == []
    library.restore(model)
    assert reopened(library).all() == [model]


def test_choices_go_before_settings_and_never_beyond_the_model(
    settings: Settings, tmp_path: Path
) -> None:
    info = msgspec.structs.replace(model_file(tmp_path), context_length=8192)
    settings.set("context", 16384)
    settings.set("max_requests", 4)
    as_settings = options_for(info, ModelChoices(), settings)
    assert (as_settings.context, as_settings.max_requests) == (8192, 4)
    chosen = options_for(info, ModelChoices(context=100_000, store="gguf", n_threads=0), settings)
    assert (chosen.context, chosen.store, chosen.n_threads) == (8192, "gguf", 0)
    settings.close()


@pytest.mark.parametrize("choices", [ModelChoices(), ModelChoices(context=300)])
def test_a_model_that_was_trained_for_next_to_nothing_is_offered_the_least_context(
    settings: Settings, tmp_path: Path, choices: ModelChoices
) -> None:
    info = msgspec.structs.replace(model_file(tmp_path), context_length=8)
    assert options_for(info, choices, settings).context == 16
