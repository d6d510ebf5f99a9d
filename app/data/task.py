"""Task and TaskItem: one task, and the items that it is done for."""

from typing import Annotated, Literal

import msgspec

ItemState = Literal["waiting", "running", "done", "stopped", "failed"]
Time = Annotated[float, msgspec.Meta(ge=0, lt=253402214400)]  # that a calendar of Python knows


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for each item.

    Attributes:
        prompt: The task's text, with "{item}" where the item goes; without it the item follows.
        preset: Name of the sampling preset.
        at_once: Most sessions that run together; 0: as many as the engine allows.
        is_split: The items are parts into which a model has split the task.
        summarise: Sum the results up when all are there.
        summary: The conversation that sums up; `summary_reply` is the message.
    """

    id: str
    title: str
    created: Time = 0.0
    prompt: str
    system_prompt: str = ""
    preset: str = ""
    at_once: int = 0
    is_split: bool = False
    summarise: bool = False
    summary: str | None = None
    summary_reply: str | None = None


class TaskItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item and what became of it.

    Attributes:
        place: 0 is the first of its task.
        detail: Why it failed or stopped; may be "".
        conversation: Where it was asked, as a chat of the kind "subtask"; `reply` is the message.
    """

    id: str
    task: str
    place: int
    text: str
    state: ItemState = "waiting"
    detail: str = ""
    conversation: str | None = None
    reply: str | None = None
