"""Files that are replaced whole, and by whom they may be read afterwards."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.atomic_file import replaced, write_atomically


@pytest.fixture
def private() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("private")
def test_a_new_file_is_as_private_as_the_user_wants_files_to_be(tmp_path: Path) -> None:
    write_atomically(tmp_path / "settings.json", b"{}")
    assert mode(tmp_path / "settings.json") == 0o600


@pytest.mark.parametrize("wanted", [0o600, 0o640, 0o666])
def test_a_replaced_file_stays_as_private_as_it_was(tmp_path: Path, wanted: int) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    path.chmod(wanted)
    with replaced(path) as file:
        (partial,) = tmp_path.glob(".settings.json-*")
        assert mode(partial) == wanted
        file.write(b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", wanted)


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles" / "settings.json", tmp_path / "settings.json"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link.symlink_to(Path("dotfiles") / "settings.json")
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="full"), replaced(path) as file:
        file.write(b"half")
        raise ValueError("full")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [
        ("settings.json", b"old")
    ]
