"""Selection: the characters of one message that are marked."""

from app.chat.row import Place


class Selection:
    """From where the mouse went down to where it is; nothing without a message."""

    def __init__(self) -> None:
        self.message = ""
        self._anchor: tuple[Place, Place] = ((0, 0), (0, 0))
        self._cursor: Place = (0, 0)

    def begin(self, message: str, start: Place, end: Place) -> None:
        """Mark from `start` to `end`, which stays marked wherever the selection is extended to."""
        self.message = message
        self._anchor = (start, end)
        self._cursor = end

    def extend(self, place: Place) -> None:
        """The mouse is at another character."""
        self._cursor = place

    def clear(self) -> None:
        """Mark nothing."""
        self.begin("", (0, 0), (0, 0))

    @property
    def span(self) -> tuple[Place, Place] | None:
        """First and last place; None when nothing is marked."""
        first = min(self._anchor[0], self._cursor)
        last = max(self._anchor[1], self._cursor)
        return (first, last) if self.message and first < last else None
