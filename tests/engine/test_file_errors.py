"""What a file or folder does not allow is a sentence, or a way around it, in every process."""

import errno
import os
import socket
import struct
import subprocess
import types
from pathlib import Path

import msgspec
import pytest

from engine.cli.main import main
from engine.engine import Engine
from engine.errors import StorageError, UnsupportedModelError
from engine.events import Notice
from engine.model_info import inspect_model
from engine.options import EngineOptions
from engine.pack import pack_path
from engine.process import child
from engine.process.frames import FrameReader, framed
from engine.protocol import Failed, HostReport, JobReport, Load, Pack
from tests.helpers.models import tiny_model


def last_said(module: str, command: msgspec.Struct) -> HostReport | JobReport:
    """By a child process that is told this, and then ends without a fault."""
    ours, theirs = socket.socketpair()
    with ours, ours.makefile("rb") as reading:
        with theirs:
            process = subprocess.Popen(
                child.command_line(module, theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                env=child.environment(),
            )
        ours.sendall(framed(command))
        reader = FrameReader(msgspec.msgpack.Decoder(HostReport | JobReport))
        said = list(reader.feed(reading.read()))
    assert process.wait(60) == 0
    return said[-1]


def test_a_stale_pack_that_cannot_be_replaced_means_the_model_file_in_place(
    fake: types.ModuleType, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = pack_path(inspect_model(model))
    stale.parent.mkdir(parents=True)
    stale.write_text("damaged")

    def refused(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", refused)
    with Engine.open(model) as engine:
        (notice,) = [event.text for event in engine.poll() if isinstance(event, Notice)]
        assert engine.info.store == "gguf"
    assert "in place" in notice and "Read-only file system" in notice and str(stale) in notice
    assert stale.read_text() == "damaged"


@pytest.mark.parametrize("made", [True, False])
def test_without_a_pack_and_a_folder_that_takes_one_the_model_file_is_read_in_place(
    fake: types.ModuleType, model: Path, home: Path, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    home.mkdir(exist_ok=True)
    if made:
        (home / "packs").mkdir()
        access = os.access
        monkeypatch.setattr(
            os, "access", lambda path, *mode: "packs" not in str(path) and access(path, *mode)
        )
    else:
        (home / "packs").write_text("a file where the folder should be")
    with Engine.open(model, EngineOptions(run_log=False)) as engine:
        assert engine.info.store == "gguf"
        (notice,) = [event.text for event in engine.poll() if isinstance(event, Notice)]
    assert "read in place" in notice and str(home / "packs") in notice
    if made:  # one that was named is no other's business
        named = EngineOptions(run_log=False, pack_path=str(home / "packs" / "a.pack"))
        with pytest.raises(StorageError, match="another place for the pack"):
            Engine.open(model, named)


def test_a_pack_at_an_impossible_place_is_a_sentence_of_each_host(tmp_path: Path) -> None:
    model, place = str(tiny_model("q4_0")), str(tmp_path / ("x" * 300))
    for module, command in (
        ("engine.job_host", Pack(model, place)),
        ("engine.host", Load(model, EngineOptions(pack_path=place, run_log=False))),
    ):
        failed = last_said(module, command)
        assert isinstance(failed, Failed)
        assert "File name too long" in failed.message and place in failed.message


@pytest.mark.parametrize("command", ["inspect", "pack", "generate -p x"])
def test_a_model_path_that_is_not_utf8_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = os.fsdecode(b"caf\xe9.gguf")
    assert main([*command.split(), path]) == 1
    assert capsys.readouterr().err == (
        r"runahead: The model's path is not UTF-8, near 'caf\udce9.gguf'. Rename it." "\n"
    )


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("pack --out", "The pack's path"),
        ("generate -p x --pack", "The pack's path"),
        ("generate -p x --policy", "The policy"),
        ("bench --policies", "The policy"),
        ("generate -p", "The prompt"),
    ],
)
def test_other_texts_that_are_not_utf8_are_refused_too(
    capsys: pytest.CaptureFixture[str], command: str, what: str
) -> None:
    model = str(tiny_model("q4_0"))
    *options, last = command.split()
    assert main([*options[:1], model, *options[1:], last, os.fsdecode(b"caf\xe9")]) == 1
    said = capsys.readouterr().err
    assert f"runahead: {what} is not UTF-8, near '" in said and r"caf\udce9" in said


def with_byte(model: Path, key: bytes, copy: Path) -> Path:
    """The model with the last byte of the text under `key` being one that is not UTF-8."""
    data = bytearray(model.read_bytes())
    at = data.index(struct.pack("<Q", len(key)) + key + struct.pack("<I", 8)) + len(key) + 12
    (length,) = struct.unpack_from("<Q", data, at)
    data[at + 8 + length - 1] = 0xE9
    copy.write_bytes(data)
    return copy


def test_texts_of_a_file_that_are_not_utf8_are_shown_as_far_as_they_can_be(tmp_path: Path) -> None:
    model, copy = tiny_model(), tmp_path / "latin1.gguf"
    whole = inspect_model(model)
    name = inspect_model(with_byte(model, b"general.name", copy)).name
    assert name == whole.name[:-1] + "\ufffd"
    with_byte(model, b"tokenizer.chat_template", copy)
    assert inspect_model(copy).chat_template == (whole.chat_template or "")[:-1] + "\ufffd"
    with Engine.open(copy) as engine:
        assert (engine.info.chat_template or "").endswith("\ufffd")
    other = inspect_model(with_byte(model, b"tokenizer.ggml.pre", copy))
    assert not other.supported
    assert "tokenizer.ggml.pre" in other.reason and "\ufffd" in other.reason
    with pytest.raises(UnsupportedModelError, match=r"tokenizer\.ggml\.pre '.*\ufffd'"):
        Engine.open(copy)
    other = inspect_model(with_byte(model, b"general.architecture", copy))
    assert other.architecture.endswith("\ufffd") and "\ufffd" in other.reason


def test_a_child_for_which_no_line_is_left_leaves_no_handle_and_no_log(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket, "socketpair", none_left)
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(OSError, match="Too many open files"):
        child.Child("engine.host", HostReport)
    assert len(list(Path("/dev/fd").iterdir())) == before
    assert not list((home / "logs").iterdir())
