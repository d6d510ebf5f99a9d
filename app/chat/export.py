"""A conversation as a Markdown file, for reading elsewhere."""

import re
from collections.abc import Sequence

from app.chat.markdown import BlockSplitter
from app.chat.thinking import answer_of
from app.data.conversation import Conversation, Message
from app.language import tr

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_DEEP = "    "  # from so far in on, what looks like a fence is code


def as_markdown(conversation: Conversation, path: Sequence[Message]) -> str:
    """The shown messages without thinking, each under a heading that says who speaks."""
    parts = [f"# {conversation.title or tr('New chat')}"]
    if conversation.system_prompt.strip():
        parts.append(f"*{tr('System prompt')}*\n\n{conversation.system_prompt.strip()}")
    for message in path:
        if message.role == "user":
            who, text = tr("You"), message.text
        else:
            model = message.result.model if message.result else ""
            who, text = model or tr("Assistant"), answer_of(message.text)
        parts.append(f"## {who}\n\n{ended(text.strip())}")
    return "\n\n".join(parts) + "\n"


def ended(text: str) -> str:
    """Markdown whose last code block ends, also of a reply that was cut off in one.

    Else all that stands below it in a file would be code.
    """
    if not _FENCE.search(text):  # most have none, and there may be thousands
        return text
    splitter = BlockSplitter()
    splitter.feed(text, is_final=True)
    last = splitter.blocks[-1] if splitter.blocks else None
    if last is None or last.kind != "code" or last.indent:  # in a list it ends with that
        return text
    first, *rest = last.source.rstrip().splitlines()
    fence = _FENCE.match(first)
    if fence is None or (rest and _is_end(rest[-1], fence[1])):
        return text
    return f"{text}\n{fence[1]}"


def _is_end(line: str, fence: str) -> bool:
    marks = line.strip()
    is_fence = len(marks) >= len(fence) and not marks.strip(fence[0])
    return is_fence and not line.startswith(_DEEP)


def file_name(title: str) -> str:
    """A name that every file system takes."""
    kept = "".join(c if c.isalnum() or c in " -_." else " " for c in title)
    return (" ".join(kept.split()).strip(". ")[:80] or "chat") + ".md"
