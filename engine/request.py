"""Request: one thing to generate, from chat messages, plain text or tokens."""

from typing import NewType

import msgspec

from engine.errors import InvalidRequestError
from engine.sampling import SamplingParams

RequestId = NewType("RequestId", int)
SessionId = NewType("SessionId", int)

NO_SESSION = SessionId(-1)


class Message(msgspec.Struct, frozen=True):
    """One turn of a chat; role is "system", "user" or "assistant"."""

    role: str
    content: str


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Exactly one of messages, prompt and tokens is given.

    Attributes:
        messages: A chat; the model's chat template turns it into text.
        prompt: Text that the model continues.
        tokens: The prompt as token ids.
        session: The session whose KV cache it uses; NO_SESSION: one of its own.
    """

    messages: tuple[Message, ...] = ()
    prompt: str = ""
    tokens: tuple[int, ...] = ()
    params: SamplingParams = SamplingParams()
    session: SessionId = NO_SESSION

    def __post_init__(self) -> None:
        given = [bool(self.messages), bool(self.prompt), bool(self.tokens)].count(True)
        if given != 1:
            raise InvalidRequestError(
                "The prompt is empty" if given == 0 else "Give only one of messages, prompt, tokens"
            )


class Prompt(msgspec.Struct, frozen=True):
    """A request's prompt as the model reads it, and the strings that its template ends replies by.

    `tokens` includes those that the tokenizer and the template add.
    """

    tokens: list[int]
    stop: tuple[str, ...] = ()
