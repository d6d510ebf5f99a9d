"""Errors reach a person as a sentence of what happened and what to try."""

import errno
import types

import pytest

from engine import errors, native
from tests.helpers import fake_native


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("bad_file", errors.ModelFileError),
        ("unsupported", errors.UnsupportedModelError),
        ("io", errors.StorageError),
        ("no_space", errors.OutOfSpaceError),
        ("no_memory", errors.OutOfMemoryError),
        ("invalid", errors.InvalidRequestError),
        ("cancelled", errors.Cancelled),
        ("something new", errors.EngineError),
    ],
)
def test_every_native_code_has_its_error(
    fake: types.ModuleType, code: str, kind: type[errors.EngineError]
) -> None:
    with pytest.raises(errors.EngineError) as caught, native.translated():
        raise fake_native.NativeError(code, "a.gguf: field x is 7")
    assert type(caught.value) is kind
    assert str(caught.value).startswith("a.gguf: field x is 7")


def test_what_to_try_follows_as_a_sentence() -> None:
    assert str(errors.EngineError("a.gguf is damaged", "Get it again.")) == (
        "a.gguf is damaged. Get it again."
    )
    assert str(errors.EngineError("It is damaged.", "Get it again.")).count("..") == 0
    assert str(errors.InvalidRequestError("seed is -1")) == "seed is -1"


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, errors.OutOfSpaceError),
        (errno.EDQUOT, errors.OutOfSpaceError),
        (errno.ENOMEM, errors.OutOfMemoryError),
        (errno.EACCES, errors.StorageError),
    ],
)
def test_errors_of_the_system_name_the_file(number: int, kind: type[errors.EngineError]) -> None:
    error = errors.from_os(OSError(number, "Reason", "/x/y"), "The pack cannot be written")
    assert type(error) is kind
    assert str(error).startswith("The pack cannot be written: Reason (/x/y)")


def test_a_native_module_of_another_build_is_refused() -> None:
    other = types.SimpleNamespace(
        RECORD_DTYPE=fake_native.RECORD_DTYPE[:-1], EVENTS=fake_native.EVENTS
    )
    with pytest.raises(errors.BuildError, match="another version"):
        native.check(other)
