"""What a model is told of a conversation: the turns so far, without thinking."""

from collections.abc import Sequence

from app.chat.thinking import answer_of
from app.data.conversation import Message as Saved
from engine.request import Message


def turns(path: Sequence[Saved], system_prompt: str = "") -> tuple[Message, ...]:
    """The system prompt, then users' and assistants' turns in alternation, as templates want them.

    Replies that gave no answer are left out, and the questions around them become one turn.
    """
    made: list[Message] = []
    if system_prompt.strip():
        made.append(Message("system", system_prompt.strip()))
    for saved in path:
        text = answer_of(saved.text) if saved.role == "assistant" else saved.text
        if not text.strip():
            continue
        if made and made[-1].role == saved.role:
            made[-1] = Message(saved.role, f"{made[-1].content}\n\n{text}")
        else:
            made.append(Message(saved.role, text))
    return tuple(made)


def n_bytes(messages: Sequence[Message]) -> int:
    """A bound on their tokens: no token is shorter than a byte; templates add some per turn."""
    return sum(len(each.content.encode()) + 32 for each in messages) + 512
