"""The state of a pack is told from its header, as the engine writes it."""

from pathlib import Path

import msgspec

from app.models.pack_state import pack_state
from engine.model_info import inspect_model
from engine.pack import build_pack, pack_path
from tests.helpers.models import tiny_model


def test_a_pack_is_none_then_ready_then_stale() -> None:
    info = inspect_model(tiny_model(n_layer=2))
    assert pack_state(info).kind == "none"
    path = pack_path(info)
    path.parent.mkdir(parents=True)
    made = build_pack(info, path)
    state = pack_state(info)
    assert (state.kind, state.n_bytes, state.layout) == ("ready", made.bytes, made.layout)

    whole = path.read_bytes()
    path.write_bytes(whole[:-4096])
    assert pack_state(info).kind == "stale"
    assert "instead of" in pack_state(info).reason
    path.write_bytes(whole[:8] + b"\x09" + whole[9:])
    assert "another version" in pack_state(info).reason
    path.write_bytes(whole[:40] + bytes(8) + whole[48:])
    assert "another model file" in pack_state(info).reason
    path.write_bytes(b"RUNA")
    assert "not an expert pack" in pack_state(info).reason


def test_a_pack_of_an_earlier_version_of_the_file_is_stale(tmp_path: Path) -> None:
    info = inspect_model(tiny_model(n_layer=2))
    old = tmp_path / "old.pack"
    assert pack_state(info, [str(old)]).kind == "none"
    old.write_bytes(bytes(100))
    state = pack_state(info, [str(old)])
    assert (state.kind, state.n_bytes, state.path) == ("stale", 100, str(old))
    assert "earlier version" in state.reason


def test_another_model_of_the_same_name_has_another_pack() -> None:
    info = inspect_model(tiny_model(n_layer=2))
    other = msgspec.structs.replace(info, fingerprint=info.fingerprint ^ 1)
    pack_path(other).parent.mkdir(parents=True)
    pack_path(other).write_bytes(b"RUNAPACK")
    assert pack_state(info).kind == "none"
