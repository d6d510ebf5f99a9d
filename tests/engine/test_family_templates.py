"""The chat templates of real models render in the sandbox, each turn at its place."""

from datetime import datetime

import pytest

from engine.chat_template import ChatTemplate
from engine.request import Message
from tests.helpers.llama_sources import MODELS, without_sources

TURNS = [
    Message("system", "Be brief, tutor."),
    Message("user", "First question?"),
    Message("assistant", "First answer."),
    Message("user", "Second question?"),
]
TEMPLATES = {path.stem: path for path in sorted((MODELS / "templates").glob("*.jinja"))}
# Templates that refuse such a chat in any program.
REFUSE = {
    "fireworks-ai-llama-3-firefunction-v2": "'functions' is undefined",
    "google-gemma-2-2b-it": "System role not supported",
}


def render(name: str) -> tuple[str, str]:
    """The prompt, and the notice."""
    template = ChatTemplate(TEMPLATES[name].read_text(), "<s>", "</s>")
    prompt = template.render(TURNS, datetime(2026, 1, 31, 12, 0))
    return prompt.text, prompt.notice


@without_sources
@pytest.mark.parametrize("name", sorted(set(TEMPLATES) - set(REFUSE)) or ["none"])
def test_a_real_template_renders_a_chat_and_opens_the_reply(name: str) -> None:
    text, notice = render(name)
    assert notice == ""
    # Some put the system's text into a later turn.
    assert all(text.count(turn.content) == 1 for turn in TURNS)
    places = [text.index(turn.content) for turn in TURNS[1:]]
    assert places == sorted(places)
    assert text[places[-1] + len(TURNS[-1].content) :].strip()


@without_sources
@pytest.mark.parametrize("name", REFUSE)
def test_a_template_that_refuses_gives_way_to_the_plain_one(name: str) -> None:
    text, notice = render(name)
    assert text.endswith("User: Second question?\nAssistant:")
    assert REFUSE[name] in notice
