"""TaskSessions: KV caches that go from item to item, so that what all items share is read once."""

from app.engine_service import EngineService
from engine.request import SessionId


class TaskSessions:
    """As many as run at once; all are closed when the run rests, for they take memory."""

    def __init__(self, service: EngineService):
        self._service = service
        self._free: list[SessionId] = []
        self._taken: set[SessionId] = set()

    def take(self) -> SessionId:
        """One that no item uses."""
        session = self._free.pop() if self._free else self._service.open_session()
        self._taken.add(session)
        return session

    def give_back(self, session: SessionId) -> None:
        """Its item has ended; the next one may go on with it."""
        if session in self._taken:
            self._taken.remove(session)
            self._free.append(session)

    def close(self) -> None:
        """Free those that no item uses."""
        for session in self._free:
            self._service.close_session(session)
        self._free.clear()

    def forget(self) -> None:
        """The engine has gone, and its sessions with it."""
        self._free.clear()
        self._taken.clear()
