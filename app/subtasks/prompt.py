"""What is said to the model: for an item, to split a task, and to sum results up.

What all items share comes first, so that a session that goes on with the next item keeps it.
"""

from collections.abc import Sequence

from app.data.task import Task
from engine.request import Message

PLACE = "{item}"
MOST_PARTS = 16


def item_text(task: Task, item: str) -> str:
    """What the user would have typed for this item."""
    if PLACE in task.prompt:
        return task.prompt.replace(PLACE, item)
    if task.is_split:
        return f"{task.prompt.rstrip()}\n\nDo only this part of it: {item}"
    return f"{task.prompt.rstrip()}\n\n{item}"


def messages(system_prompt: str, text: str) -> tuple[Message, ...]:
    """A chat with one question."""
    system = (Message("system", system_prompt.strip()),) if system_prompt.strip() else ()
    return (*system, Message("user", text))


def split_text(task: str) -> str:
    """Asks for the parts of a task as a JSON list."""
    return (
        "Split the task below into parts that different people can do at the same time without "
        f"talking to each other. At least 2 and at most {MOST_PARTS} parts; together they are the "
        "whole task. Describe each part in one sentence that can be understood by itself. Answer "
        'with a JSON list of strings and nothing else, for example ["First part", "Second part"].'
        f"\n\nTask:\n{task.strip()}"
    )


def summary_text(task: str, results: Sequence[tuple[str, str]], *, is_part: bool = False) -> str:
    """Asks to sum up (item, result) pairs; `is_part`: others see to the rest."""
    goal = (
        "Below are some of its results. Keep every fact that matters; they will be put together "
        "with those of others."
        if is_part
        else "Below are its results. Put them together into one clear answer to the task: say what "
        "matters first, and where results differ or contradict each other."
    )
    parts = "\n\n".join(f"## {item}\n\n{result}" for item, result in results)
    return f"A task was done in parts.\n\nTask:\n{task.strip()}\n\n{goal}\n\n{parts}"
