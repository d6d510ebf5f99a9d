"""ChatTemplate: chat messages to prompt text, by the template that a model file brings along.

A template is a program from an untrusted file. It runs in `engine.template_sandbox`; one that
fails, asks for too much or tries to reach Python gives way to a plain template, with a notice that
says why.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from engine.request import Message
from engine.template_sandbox import TemplateFailedError, TemplateSandbox


class ChatPrompt(msgspec.Struct, frozen=True):
    """A rendered chat.

    Attributes:
        text: The prompt, with the special tokens as text.
        stop: Strings that also end the reply.
        notice: Why the plain template was used; "" when the model's own was.
    """

    text: str
    stop: tuple[str, ...] = ()
    notice: str = ""


class ChatTemplate:
    """The template of one model.

    Args:
        source: Jinja text from the GGUF; None when the file has none.
        bos, eos: Text of the model's first and last special tokens, for the template's use.
    """

    def __init__(self, source: str | None, bos: str = "", eos: str = ""):
        self._source = source
        self._bos = bos
        self._eos = eos

    def render(self, messages: Sequence[Message], now: datetime | None = None) -> ChatPrompt:
        """The prompt that makes the model reply to `messages`. Never raises for a bad template."""
        if self._source is None:
            return _plain(messages, "The model has no chat template; a plain one is used.")
        try:
            text = TemplateSandbox(now or datetime.now()).render(
                self._source,
                messages=[{"role": each.role, "content": each.content} for each in messages],
                add_generation_prompt=True,
                bos_token=self._bos,
                eos_token=self._eos,
            )
        except TemplateFailedError as failure:
            return _plain(
                messages, f"The model's chat template was not used, a plain one was: {failure}."
            )
        if not text.strip():
            return _plain(messages, "The model's chat template gave no text; a plain one was used.")
        return ChatPrompt(text)


def _plain(messages: Sequence[Message], notice: str) -> ChatPrompt:
    names = {"system": "System", "user": "User", "assistant": "Assistant"}
    turns = [f"{names.get(each.role, each.role.title())}: {each.content}\n" for each in messages]
    told = notice.encode(errors="backslashreplace").decode()  # a template's own words are anything
    return ChatPrompt("".join(turns) + "Assistant:", stop=("\nUser:",), notice=told)
