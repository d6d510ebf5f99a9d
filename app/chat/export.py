"""A conversation as a Markdown file, for reading elsewhere."""

from collections.abc import Sequence

from app.chat.thinking import answer_of
from app.data.conversation import Conversation, Message
from app.language import tr


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
        parts.append(f"## {who}\n\n{text.strip()}")
    return "\n\n".join(parts) + "\n"


def file_name(title: str) -> str:
    """A name that every file system takes."""
    kept = "".join(c if c.isalnum() or c in " -_." else " " for c in title)
    return (" ".join(kept.split()).strip(". ")[:80] or "chat") + ".md"
