"""A model is known by its first file, and all its files are looked for."""

from pathlib import Path

import pytest

from app.models.shards import all_files, check_files, first_file
from engine.errors import ModelFileError, StorageError


def split(folder: Path, count: int, without: tuple[int, ...] = ()) -> list[Path]:
    paths = [folder / f"Big-{no:05d}-of-{count:05d}.gguf" for no in range(1, count + 1)]
    for no, path in enumerate(paths, 1):
        if no not in without:
            path.write_bytes(b"GGUF")
    return paths


def test_any_shard_names_the_first_and_all_others(tmp_path: Path) -> None:
    paths = split(tmp_path, 3)
    for path in paths:
        assert first_file(path) == paths[0]
        assert all_files(path) == paths
        assert check_files(path) == paths[0]


def test_a_single_file_names_itself(tmp_path: Path) -> None:
    path = tmp_path / "small-00001-of-3.gguf"  # not the convention's five digits
    path.write_bytes(b"GGUF")
    assert first_file(path) == path
    assert all_files(path) == [path]
    assert check_files(path) == path


def test_missing_parts_are_named(tmp_path: Path) -> None:
    paths = split(tmp_path, 6, without=(2, 3, 4, 5))
    with pytest.raises(ModelFileError) as error:
        check_files(paths[0])
    assert "4 of the 6 parts" in str(error.value)
    assert paths[1].name in str(error.value)
    assert "and 1 more" in str(error.value)
    assert str(tmp_path) in error.value.hint


def test_a_name_that_claims_endless_shards_is_taken_as_one_file(tmp_path: Path) -> None:
    path = tmp_path / "evil-00001-of-99999.gguf"
    path.write_bytes(b"GGUF")
    assert all_files(path) == [path]


def test_what_is_no_gguf_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(ModelFileError, match="not a GGUF"):
        check_files(tmp_path / "model.safetensors")
    with pytest.raises(StorageError, match="does not exist"):
        check_files(tmp_path / "gone.gguf")
