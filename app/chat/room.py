"""How a chat that does not fit the context goes on: with its latest turns, or with a summary."""

from collections.abc import Sequence

from app.chat.thinking import answer_of
from app.data.conversation import Message
from app.language import tr

TRIMMED_SHARE = 0.5  # of the context that the latest turns may take, so that there is room to go on
SUMMARY_SHARE = 0.75  # of the context that a summary is made from


def latest_turns(path: Sequence[Message], n_tokens: int, most_tokens: float) -> list[Message]:
    """The end of `path` that has about `most_tokens` at most, from a user's turn on.

    `n_tokens` is what all of it has as the model is told it: without thinking. The last message is
    always there.
    """
    lengths = [len(answer_of(each.text) if each.role != "user" else each.text) for each in path]
    per_character = n_tokens / max(1, sum(lengths))
    taken = 0.0
    first = len(path) - 1
    for index in range(len(path) - 1, -1, -1):
        taken += lengths[index] * per_character
        if taken > most_tokens:
            break
        if path[index].role == "user":
            first = index
    return list(path[first:])


def summary_question() -> str:
    """What the model is asked to do with a conversation that has become too long."""
    return tr(
        "Sum up our conversation so far, so that we can go on from the summary alone: what was"
        " asked, what was found or decided, names, figures and code that matter, and what is open."
    )
