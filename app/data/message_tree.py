"""MessageTree: the messages of one conversation; which of the siblings are shown.

Qt-free and in memory; `Conversations` keeps it and the database the same.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from app.data.conversation import Message


class MessageTree:
    """Messages in the order in which they were added.

    Attributes:
        leaf: Last message of the shown path; None when nothing is shown.
        n_chars: Length of all texts, for whoever bounds memory.
    """

    def __init__(self, messages: Iterable[Message] = (), leaf: str | None = None):
        self._messages: dict[str, Message] = {}
        self._children: dict[str | None, list[str]] = defaultdict(list)
        self.leaf: str | None = None
        self.n_chars = 0
        for message in messages:
            self.add(message)
        self.leaf = leaf if leaf in self._messages else self.leaf

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._messages

    def __iter__(self) -> Iterator[str]:
        return iter(self._messages)

    def __getitem__(self, message_id: str) -> Message:
        return self._messages[message_id]

    @property
    def streaming(self) -> bool:
        """Whether a message is still being written."""
        return any(message.state == "streaming" for message in self._messages.values())

    def add(self, message: Message) -> None:
        """Add below its parent, which is here or None; it becomes the end of the shown path."""
        if message.parent is not None and message.parent not in self._messages:
            raise KeyError(f"message {message.parent} is not in this conversation")
        self._messages[message.id] = message
        self._children[message.parent].append(message.id)
        self.n_chars += len(message.text)
        self.leaf = message.id

    def replace(self, message: Message) -> None:
        """Give a message another text, state or result."""
        self.n_chars += len(message.text) - len(self._messages[message.id].text)
        self._messages[message.id] = message

    def remove(self, message_id: str) -> list[str]:
        """Take out a message and all below it; their ids, the newest first.

        When it was shown, its newest sibling is shown instead, or else what it followed.
        """
        removed = [message_id]
        for each in removed:  # grows meanwhile
            removed += self._children.pop(each, [])
        parent = self._messages[message_id].parent
        self._children[parent].remove(message_id)
        for each in removed:
            self.n_chars -= len(self._messages.pop(each).text)
        if self.leaf not in self._messages:
            left = self._children[parent]
            self.leaf = self.newest_leaf(left[-1]) if left else parent
        return removed[::-1]

    def path(self, leaf: str | None = None) -> list[Message]:
        """Root to `leaf`, or to the end of the shown path."""
        messages: list[Message] = []
        step = self.leaf if leaf is None else leaf
        while step is not None:
            messages.append(self._messages[step])
            step = messages[-1].parent
        return messages[::-1]

    def siblings(self, message_id: str) -> list[Message]:
        """All that follow the same message, itself included, oldest first."""
        parent = self._messages[message_id].parent
        return [self._messages[sibling] for sibling in self._children[parent]]

    def newest_leaf(self, message_id: str) -> str:
        """The end of the path through this message and, from there on, the newest ones."""
        while self._children.get(message_id):
            message_id = self._children[message_id][-1]
        return message_id
