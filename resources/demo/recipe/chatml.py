"""ChatML: how a conversation becomes one text, with its special tokens spelled out."""

from recipe.corpus import Conversation

END_OF_TEXT, IM_START, IM_END = SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)


def heading(role: str) -> str:
    """What stands before a turn's text."""
    return f"{IM_START}{role}\n"


def chat_text(conversation: Conversation) -> str:
    """The conversation as the template writes it."""
    return "".join(f"{heading(t.role)}{t.text}{IM_END}\n" for t in conversation)
