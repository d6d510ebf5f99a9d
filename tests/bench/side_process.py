"""Either engine in a child process, so that a kernel that crashes ends nothing else."""

import multiprocessing
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

_context = multiprocessing.get_context("spawn")


class SideError(Exception):
    """The child is gone or refused; the text says why."""


class SideProcess:
    """A child that holds `side_class(*arguments)`; call() runs one of its methods.

    Raises SideError from the constructor or from call().
    """

    def __init__(self, side_class: type, *arguments: Any) -> None:
        self._connection, theirs = _context.Pipe()
        self._process = _context.Process(target=_serve, args=(theirs, side_class, arguments))
        self._process.start()
        theirs.close()
        try:
            self._answer()
        except SideError:
            self.close()
            raise

    def call(self, method: str, *arguments: Any) -> Any:
        """The method's result."""
        try:
            self._connection.send((method, arguments))
        except OSError as error:
            raise SideError("the process is gone") from error
        return self._answer()

    def close(self) -> None:
        """Ends the child and waits for it."""
        self._connection.close()
        self._process.join(30)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def __enter__(self) -> Self:
        """As itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes."""
        self.close()

    def _answer(self) -> Any:
        try:
            failed, result = self._connection.recv()
        except EOFError as error:
            self._process.join(30)
            code = self._process.exitcode
            raise SideError(
                f"killed by signal {-code}" if code and code < 0 else f"exit {code}"
            ) from error
        if failed:
            raise SideError(result)
        return result


def _serve(connection: Connection, side_class: type, arguments: tuple[Any, ...]) -> None:
    """Answers until the parent closes its end, or is gone."""
    try:
        side = side_class(*arguments)
    except Exception as error:  # the parent raises it as SideError
        connection.send((True, f"{type(error).__name__}: {error}"))
        return
    connection.send((False, None))
    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            return
        try:
            answer = (False, getattr(side, method)(*arguments))
        except Exception as error:
            answer = (True, f"{type(error).__name__}: {error}")
        connection.send(answer)
