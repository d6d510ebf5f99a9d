"""`python -m engine.host FD`: one engine in a process of its own, told what to do over a line.

The main thread loads the model, then hands on what the engine produces; another reads commands. The
process ends on Stop, when the line does, or with its parent; within a second, whatever it is doing.
"""

import socket

import msgspec

from engine import errors
from engine.engine import Engine
from engine.engine_state import ModelSummary
from engine.hosted_engine import HostedEngine
from engine.model_info import inspect_model
from engine.process import guard
from engine.process.commands import Commands
from engine.process.outbox import Outbox
from engine.protocol import EngineCommand, Failed, Found, HostCommand, Load, Progress, Ready


class Host:
    """Loads what its client names first, and serves it until told to stop."""

    def __init__(self, sock: socket.socket):
        self._outbox = Outbox(sock)
        self._hosted: HostedEngine | None = None
        self._commands: Commands[Load | EngineCommand] = Commands(
            sock, msgspec.msgpack.Decoder(HostCommand), self._do
        )

    def run(self) -> None:
        """The life of the process."""
        load = self._commands.first()
        if not isinstance(load, Load):
            return
        try:
            engine = self._open(load)
        except errors.Cancelled:
            return
        except (errors.EngineError, OSError) as error:
            failed = errors.of(error)
            self._outbox.put(Failed(failed.message, failed.hint))
            self._outbox.finish()
            return
        self._hosted = HostedEngine(engine, self._outbox)
        try:
            self._outbox.put(Ready(engine.info))
            self._hosted.run(self._commands.stopping)
        finally:
            self._hosted.close()

    def _open(self, load: Load) -> Engine:
        self._progress("", 0, 0)
        model = inspect_model(load.path)
        self._outbox.put(Found(ModelSummary.of(model)))
        return Engine.open(model, load.options, self._progress)

    def _progress(self, stage: str, done: int, total: int) -> bool:
        self._outbox.put(Progress(stage, done, total))
        self._outbox.flush()
        return not self._commands.stopping.is_set()

    def _do(self, command: Load | EngineCommand) -> None:
        """On the thread that reads commands. A client asks for nothing before it heard Ready."""
        self._outbox.wait_for_room()
        if self._hosted is not None and not isinstance(command, Load):
            self._hosted.do(command)


if __name__ == "__main__":
    guard.live(lambda sock: Host(sock).run())
