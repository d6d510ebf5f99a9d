"""What a corpus is made of: turns, exchanges, conversations."""

from typing import NamedTuple


class Turn(NamedTuple):
    """One message; `role` is "system", "user" or "assistant"."""

    role: str
    text: str


Conversation = tuple[Turn, ...]


class Exchange(NamedTuple):
    """A question and its answer.

    `key` names the combination of topic, aspect, entity and wording; the split is a hash of it.
    """

    key: str
    question: str
    answer: str


Thread = list[Exchange]
