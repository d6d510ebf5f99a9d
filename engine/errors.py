"""EngineError: everything that can go wrong outside the engine, as sentences for a person.

`str(error)` is what happened, then what to try. Native errors become these in `from_native`, errors
of the operating system in `from_os`, and nowhere else.
"""

import errno


class EngineError(Exception):
    """Something outside the engine is wrong: a file, a disk, memory or what was asked for.

    Attributes:
        message: What happened, naming file, field and value.
        hint: What to try; may be empty.
    """

    code = "engine"
    default_hint = ""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = self.default_hint if hint is None else hint

    def __str__(self) -> str:
        if not self.hint:
            return self.message
        end = "" if self.message.endswith((".", "!", "?")) else "."
        return f"{self.message}{end} {self.hint}"


class ModelFileError(EngineError):
    """A model or pack file is malformed, truncated or damaged."""

    code = "bad_file"
    default_hint = "The file may be damaged or incomplete: download it again, or choose another."


class UnsupportedModelError(EngineError):
    """A valid file that this engine cannot run."""

    code = "unsupported"


class StorageError(EngineError):
    """Reading or writing failed."""

    code = "io"
    default_hint = "Check that the file exists, may be read, and that its disk is connected."


class OutOfSpaceError(StorageError):
    """A disk is full."""

    code = "no_space"
    default_hint = "Free some space on that disk, or run the model in place (store: gguf)."


class OutOfMemoryError(EngineError):
    """Memory would not suffice."""

    code = "no_memory"
    default_hint = "Choose a smaller cache or a shorter context, or close other programs."


class InvalidRequestError(EngineError):
    """What was asked for is out of range or cannot be read."""

    code = "invalid"


class Cancelled(EngineError):  # noqa: N818, it is no error to stop
    """The caller asked to stop; nothing half-written is left."""

    code = "cancelled"


class BuildError(EngineError):
    """The native module is missing or does not belong to these Python files."""

    code = "build"
    default_hint = "Install runahead again (from a checkout: `make setup`)."


_BY_CODE: dict[str, type[EngineError]] = {
    kind.code: kind
    for kind in (
        ModelFileError,
        UnsupportedModelError,
        StorageError,
        OutOfSpaceError,
        OutOfMemoryError,
        InvalidRequestError,
        Cancelled,
    )
}


def from_native(args: tuple[object, ...]) -> EngineError:
    """The error for a NativeError's args (code, message); EngineError for an unknown code.

    Native messages that know what to try say so after a semicolon; others get the kind's own hint.
    """
    code, message = (args[0], str(args[1])) if len(args) == 2 else ("", " ".join(map(str, args)))
    return _BY_CODE.get(str(code), EngineError)(message, "" if "; " in message else None)


def of(error: EngineError | OSError) -> EngineError:
    """The error itself, or the one for a call of the operating system that nobody foresaw."""
    return error if isinstance(error, EngineError) else from_os(error, "A file cannot be used")


def from_os(error: OSError, what: str) -> EngineError:
    """The error for a failed call of the operating system; `what` says what was tried."""
    reason = error.strerror or str(error)
    where = f" ({error.filename})" if error.filename else ""
    message = f"{what}: {reason}{where}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return OutOfSpaceError(message)
    if error.errno == errno.ENOMEM:
        return OutOfMemoryError(message)
    return StorageError(message)
