"""A routing trace comes back as it was, and a damaged one is refused by name."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import errors
from engine.simulation.routing_trace import RoutingTrace
from tests.helpers.made_up_routing import made_up_trace


def npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def write(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def meta(**changed: Any) -> bytes:
    fields = {
        "format": "runahead routing trace",
        "version": 1,
        "model": "m",
        "record_bytes": 100,
        "n_expert": 16,
        **changed,
    }
    return npy(np.frombuffer(json.dumps(fields).encode(), dtype=np.uint8))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "trace.npz"
    made_up_trace(n_step=3, n_lookahead=2).save(path)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(errors.ModelFileError) as raised:
        RoutingTrace.load(path)
    assert str(path) in raised.value.message
    assert "runahead record" in raised.value.hint
    return raised.value.message


def test_a_trace_comes_back_as_it_was(saved: Path) -> None:
    trace = made_up_trace(n_step=3, n_lookahead=2)
    found = RoutingTrace.load(saved)
    np.testing.assert_array_equal(found.experts, trace.experts)
    assert found.probabilities is not None and found.lookahead is not None
    np.testing.assert_array_equal(found.probabilities, trace.probabilities)
    np.testing.assert_array_equal(found.lookahead, trace.lookahead)
    assert found.experts.dtype == np.int16
    assert found.probabilities.dtype == found.lookahead.dtype == np.float16
    assert (found.model, found.record_bytes, found.n_expert) == ("made up", 1_000_000, 16)
    assert (found.n_step, found.n_request, found.n_layer, found.n_used) == (3, 4, 4, 3)
    assert found.n_lookahead == 2
    assert found.experts_total_bytes == 4 * 16 * 1_000_000


def test_scores_may_be_missing(tmp_path: Path) -> None:
    experts = np.array([[[[0, 5]]]])
    RoutingTrace(experts, None, None, "", 1).save(tmp_path / "t.npz")
    found = RoutingTrace.load(tmp_path / "t.npz")
    assert found.probabilities is None and found.lookahead is None
    assert found.n_expert == 6
    assert found.n_lookahead == 0


def test_numpy_itself_can_read_the_file(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as found:
        assert set(found) == {"meta", "experts", "probabilities", "lookahead"}
        np.testing.assert_array_equal(found["experts"], RoutingTrace.load(saved).experts)


def test_nothing_is_left_of_a_trace_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.npz"
    path.write_bytes(b"before")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        made_up_trace().save(path)
    assert [each.name for each in tmp_path.iterdir()] == ["trace.npz"]
    assert path.read_bytes() == b"before"


def test_a_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(errors.StorageError, match="cannot be written"):
        made_up_trace().save(tmp_path / "nowhere" / "trace.npz")
    with pytest.raises(errors.StorageError, match="cannot be read"):
        RoutingTrace.load(tmp_path / "nothing.npz")


def test_the_first_requests_are_a_trace_of_their_own() -> None:
    trace = made_up_trace(n_lookahead=1)
    two = trace.first(2)
    np.testing.assert_array_equal(two.experts, trace.experts[:, :2])
    assert two.lookahead is not None and two.lookahead.shape[1] == 2
    assert trace.first(4) is trace
    for n in (0, 5):
        with pytest.raises(errors.InvalidRequestError, match="has 4 requests"):
            trace.first(n)


def test_requests_may_be_absent_from_whole_steps_only() -> None:
    trace = made_up_trace()
    experts = trace.experts.copy()
    experts[2, 1] = -1
    RoutingTrace(experts, None, None, "", 1, 16)
    experts[2, 1, 3] = [0, 1, 2]
    with pytest.raises(errors.InvalidRequestError, match="step 2, request 1 takes part with some"):
        RoutingTrace(experts, None, None, "", 1, 16)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"experts": np.zeros((1, 1, 2))}, "experts has 3 dimensions"),
        ({"experts": np.zeros((1, 1, 1, 1))}, "experts are float64"),
        ({"experts": np.zeros((1, 1, 0, 1), dtype=int)}, "in which something is 0"),
        ({"experts": np.full((1, 1, 1, 1), 70000)}, "not in -1 .. 32767"),
        ({"experts": np.full((1, 1, 1, 1), 16)}, "step 0, request 0, layer 0 names an expert that"),
        ({"experts": np.full((1, 1, 1, 2), 3)}, "layer 0 names an expert twice"),
        ({"n_expert": 1, "experts": np.array([[[[0, 1]]]])}, "n_expert is 1, with 2 experts"),
        ({"record_bytes": 0}, "record_bytes is 0"),
        ({"probabilities": np.zeros((1, 1, 1, 15))}, "probabilities has the shape"),
        ({"probabilities": np.zeros((1, 1, 1, 16), dtype=int)}, "probabilities are int64"),
        ({"probabilities": np.full((1, 1, 1, 16), np.nan)}, "scores that are not in 0 .. 1"),
        ({"probabilities": np.full((1, 1, 1, 16), 1e9)}, "scores that are not in 0 .. 1"),
        ({"probabilities": np.full((1, 1, 1, 16), -0.1)}, "scores that are not in 0 .. 1"),
        ({"lookahead": np.zeros((1, 2, 1, 3, 16))}, "lookahead has the shape"),
        ({"lookahead": np.zeros((1, 1, 1, 0, 16))}, "lookahead has the shape"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changed: dict[str, Any], match: str) -> None:
    fields: dict[str, Any] = {
        "experts": np.array([[[[0]]]]),
        "probabilities": None,
        "lookahead": None,
        "model": "",
        "record_bytes": 1,
        "n_expert": 16,
    }
    with pytest.raises(errors.InvalidRequestError, match=match):
        RoutingTrace(**{**fields, **changed})


@pytest.mark.parametrize("name", ["meta", "experts", "probabilities", "lookahead"])
def test_a_damaged_field_is_named(saved: Path, name: str) -> None:
    members = members_of(saved)
    whole = members[f"{name}.npy"]
    for damaged in (b"", whole[:5], whole[:100], whole[:-1], whole + b"\0", b"\x94" + whole[1:]):
        said = refusal(write(saved, {**members, f"{name}.npy": damaged}))
        assert f"damaged field '{name}'" in said


@pytest.mark.parametrize(
    ("header", "match"),
    [
        (b"{'descr': '<i2', 'fortran_order': False, 'shape': (9999999999, 4, 4, 3), }", "needs"),
        (b"{'descr': '<i2', 'fortran_order': True, 'shape': (3, 4, 4, 3), }", "not one that"),
        (b"{'descr': '|O8', 'fortran_order': False, 'shape': (3, 4, 4, 3), }", "not one that"),
        (b"{'descr': '<i4', 'fortran_order': False, 'shape': (3, 4, 4, 3), }", "type <i4"),
        (b"{'descr': '<i2', 'fortran_order': False, 'shape': (3, 4, 12), }", "dimensions"),
        (b"__import__('os').abort()", "not one that"),
    ],
)
def test_headers_are_not_trusted(saved: Path, header: bytes, match: str) -> None:
    members = members_of(saved)
    body = members["experts.npy"][128:]
    header += b" " * (117 - len(header)) + b"\n"
    members["experts.npy"] = (
        b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body
    )
    said = refusal(write(saved, members))
    assert "'experts'" in said and match in said


def test_pickles_are_not_opened(saved: Path) -> None:
    members = members_of(saved)
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([object()]), allow_pickle=True)
    assert "'experts'" in refusal(write(saved, {**members, "experts.npy": file.getvalue()}))


def test_what_grows_without_end_is_not_unpacked(saved: Path) -> None:
    members = members_of(saved)
    members["experts.npy"] = npy(np.zeros((100_000, 10, 10, 10), dtype=np.int16))
    assert "claims to grow" in refusal(write(saved, members))


def test_other_compressions_and_nested_meta_are_refused(saved: Path) -> None:
    members = members_of(saved)
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("experts.npy", members["experts.npy"])
    damaged = bytearray(saved.read_bytes())
    damaged[saved.read_bytes().index(b"experts.npy") + 15] ^= 255
    saved.write_bytes(damaged)
    assert "compressed in an unknown way" in refusal(saved)
    deep = npy(np.frombuffer(b'{"x":' + b"[" * 5000, dtype=np.uint8))
    assert "damaged field 'meta'" in refusal(write(saved, {**members, "meta.npy": deep}))


def test_other_files_are_refused(saved: Path, tmp_path: Path) -> None:
    members = members_of(saved)
    other = tmp_path / "other.npz"
    other.write_bytes(b"not a zip at all")
    assert "no routing trace" in refusal(other)
    other.write_bytes(b"")
    assert "no routing trace" in refusal(other)
    for name in ("meta.npy", "experts.npy"):
        left = {each: data for each, data in members.items() if each != name}
        assert f"has no field '{name[:-4]}'" in refusal(write(other, left))
    assert "'evil.npy'" in refusal(write(other, {**members, "evil.npy": b""}))


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"format": "another"}, "'another' of version 1"),
        ({"version": 2}, "of version 2, not 1"),
        ({"record_bytes": "many"}, "'meta'"),
        ({"n_expert": 4}, "n_expert is 4|names an expert that is not in|shape"),
        ({"n_expert": 10**30}, "n_expert|'meta'"),
        ({"record_bytes": -1}, "record_bytes is -1"),
    ],
)
def test_meta_is_not_trusted(saved: Path, fields: dict[str, Any], match: str) -> None:
    import re

    members = members_of(saved)
    assert re.search(match, refusal(write(saved, {**members, "meta.npy": meta(**fields)})))


def test_every_cut_and_every_flipped_byte_ends_in_an_error_or_the_same_trace(
    tmp_path: Path,
) -> None:
    path = tmp_path / "small.npz"
    trace = made_up_trace(n_step=1, n_request=1, n_layer=1, n_expert=4, n_used=1)
    trace.save(path)
    whole = path.read_bytes()
    refused = 0
    for at in range(0, len(whole), 3):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            path.write_bytes(damaged)
            try:
                found = RoutingTrace.load(path)
            except errors.EngineError:
                refused += 1
            else:  # what nobody looks at, such as a date
                np.testing.assert_array_equal(found.experts, trace.experts)
    assert refused > len(whole) // 4
