"""One window per data folder."""

import os
from pathlib import Path

import pytest

from app.single_instance import SingleInstance


def test_a_second_window_is_told_who_has_the_folder(tmp_path: Path) -> None:
    first, second = SingleInstance(tmp_path), SingleInstance(tmp_path)
    assert first.take() == ""
    why = second.take()
    assert "already open" in why
    assert str(os.getpid()) in why
    first.release()
    assert second.take() == ""
    second.release()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert str(tmp_path) in SingleInstance(tmp_path / "data").take()
    finally:
        tmp_path.chmod(0o700)


def test_a_file_in_the_folders_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert str(tmp_path / "data") in SingleInstance(tmp_path / "data").take()
