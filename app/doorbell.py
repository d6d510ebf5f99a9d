"""Doorbell: a second start brings the window that is open to the front, and hands it its files."""

import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

PATIENCE_MS = 2000
MOST_BYTES = 1 << 20
_END, _HEARD = b"\0\n", b"heard"


class Doorbell(QObject):
    """Listens from `listen` to `close`; only this user's programs are heard.

    A call is file names, each followed by a zero byte, then an end of line; it is answered.

    Signals:
        rung: Somebody wants the window. arg: list of Path, model files to add.
    """

    rung = Signal(list)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = _name(folder)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connected)

    def listen(self) -> bool:
        """Whether it can be heard; without it a second start only says that this one is open.

        REQUIRES: the folder is ours, so a socket of that name is one that a crash has left.
        """
        QLocalServer.removeServer(self._name)
        return self._server.listen(self._name)

    def close(self) -> None:
        """Hear nothing more."""
        self._server.close()

    def _on_connected(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            socket.readyRead.connect(partial(self._on_heard, socket))
            self._on_heard(socket)

    def _on_heard(self, socket: QLocalSocket) -> None:
        if socket.bytesAvailable() > MOST_BYTES:
            socket.abort()
            return
        call = bytes(socket.peek(MOST_BYTES).data())
        if not call.endswith(_END):
            return  # the rest is on its way
        socket.readAll()
        socket.write(_HEARD)
        socket.flush()
        names = call[: -len(_END)].split(b"\0")
        self.rung.emit([Path(os.fsdecode(name)) for name in names if name])


def ring(folder: Path, files: Sequence[Path] = ()) -> bool:
    """Call the window that has the folder; whether it has answered."""
    socket = QLocalSocket()
    socket.connectToServer(_name(folder))
    if not socket.waitForConnected(PATIENCE_MS):
        return False
    socket.write(b"\0".join(os.fsencode(file.absolute()) for file in files) + _END)
    heard = b""
    while len(heard) < len(_HEARD) and socket.waitForReadyRead(PATIENCE_MS):
        heard += socket.readAll().data()
    return heard == _HEARD


def _name(folder: Path) -> str:
    # Sockets have short names only, whatever the folder is called.
    return "runahead-" + hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:16]
