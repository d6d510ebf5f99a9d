"""The only door to engine._native: loaded at first use, checked to be of the same build.

`native.Engine`, `native.inspect` and so on are those of engine/_native.pyi. Loading them late keeps
`--help`, run logs and metrics free of ggml.
"""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import errors, trace

# (stage, done, of how many) -> go on? In bytes or items; False stops with errors.Cancelled.
Progress = Callable[[str, int, int], bool]

if TYPE_CHECKING:
    from engine._native import POLICY_REVISION as POLICY_REVISION
    from engine._native import Engine as Engine
    from engine._native import NativeError as NativeError
    from engine._native import check_pack as check_pack
    from engine._native import inspect as inspect
    from engine._native import parse_policy as parse_policy
    from engine._native import parse_simulated_policy as parse_simulated_policy
    from engine._native import presets as presets
    from engine._native import simulate as simulate
    from engine._native import write_pack as write_pack
else:

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_module(), name)


@cache
def _module() -> Any:
    try:
        module = importlib.import_module("engine._native")
    except ImportError as error:
        raise errors.BuildError(f"The native engine cannot be loaded: {error}") from error
    check(module)
    return module


def check(module: Any) -> None:
    """Raise BuildError when the module's trace records are not those of engine.trace."""
    if (
        np.dtype(module.RECORD_DTYPE) != trace.RECORD_DTYPE
        or list(module.EVENTS) != trace.EVENT_NAMES
    ):
        raise errors.BuildError("The native engine was built from another version of Runahead")


def utf8(text: str, what: str, hint: str = "Write it in UTF-8.") -> str:
    """`text`, which native code can take. Raises InvalidRequestError that calls it `what`.

    Python keeps bytes that are no UTF-8, as in an argument or a file's name, as half pairs.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        near = text[max(0, error.start - 40) : error.start + 40]
        raise errors.InvalidRequestError(f"{what} is not UTF-8, near {near!a}", hint) from error
    return text


class Watched:
    """A progress callback that never throws into native code.

    What it raises (Ctrl-C too) stops the native job; `translated` raises it again.
    """

    def __init__(self, progress: Progress | None):
        self._progress = progress
        self.raised: BaseException | None = None

    def __call__(self, stage: str, done: int, total: int) -> bool:
        """Report; False once the caller wants to stop."""
        try:
            return self._progress is None or bool(self._progress(stage, done, total))
        except BaseException as error:  # kept, and raised again by translated()
            self.raised = error
            return False


@contextmanager
def translated(watched: Watched | None = None) -> Iterator[None]:
    """Run native calls: NativeError becomes an EngineError, or what the callback raised."""
    native_error: type[Exception] = _module().NativeError
    try:
        yield
    except native_error as error:
        if watched is not None and watched.raised is not None:
            raise watched.raised from None
        raise errors.from_native(error.args) from error
