"""The demo model that ships: real text from our engine, the same as llama.cpp's, and its card."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.cache_size import CacheSize
from engine.demo_model import DEMO_CACHE, DEMO_CHATS, demo_model
from engine.engine import Engine
from engine.events import Finished, Piece
from engine.model_info import inspect_model
from engine.options import EngineOptions
from engine.request import Message, Request
from engine.sampling import SamplingParams

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.corpus import held_out_prompts
from recipe.evaluate import difference, load_llama

QUESTIONS = [chat[0] for chat in DEMO_CHATS]
MAX_TOKENS = 160


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    options = EngineOptions(
        store="gguf", cache=DEMO_CACHE, context=1024, max_requests=4, n_threads=1, run_log=False
    )
    with Engine.open(demo_model(), options) as opened:
        yield opened


def asked(question: str) -> Request:
    params = SamplingParams(temperature=0, max_tokens=MAX_TOKENS)
    return Request(messages=(Message("user", question),), params=params)


def replies(engine: Engine, questions: list[str]) -> list[tuple[str, str]]:
    """Text and the reason of the end, of all questions at once."""
    numbers = [engine.submit(asked(question)) for question in questions]
    texts, ends = dict.fromkeys(numbers, ""), {}
    while len(ends) < len(numbers):
        assert engine.wait(60)
        for event in engine.poll():
            if isinstance(event, Piece):
                texts[event.request] += event.text
            elif isinstance(event, Finished):
                ends[event.request] = event.reason
    return [(texts[number], ends[number]) for number in numbers]


def test_it_is_small_supported_and_says_what_it_is() -> None:
    model = inspect_model(demo_model())
    assert demo_model().stat().st_size <= 24_000_000
    assert model.supported and model.architecture == "qwen3moe"
    assert model.title == "Runahead demo"
    assert model.chat_template
    assert dict(model.metadata)["general.license"] == "Apache-2.0"


def test_four_chats_at_once_end_by_themselves_in_real_words(engine: Engine) -> None:
    for text, end in replies(engine, QUESTIONS):
        assert end == "stop"
        assert len(text.split()) >= 3
        assert text[0].isupper() and text.rstrip()[-1] in '.!?"'


def test_it_says_in_its_own_words_that_it_is_a_tiny_demo_model(engine: Engine) -> None:
    for text, _ in replies(engine, ["What are you?", "Who are you?", "Are you a big model?"]):
        assert any(word in text.lower() for word in ("demo", "tiny", "small")), text


def test_a_small_cache_changes_no_word(engine: Engine) -> None:
    options = EngineOptions(
        store="memory", cache=CacheSize(fraction=1), context=1024, n_threads=1, run_log=False
    )
    with Engine.open(demo_model(), options) as whole:
        assert replies(whole, QUESTIONS) == replies(engine, QUESTIONS)


def test_llama_cpp_gives_the_same_greedy_replies(engine: Engine) -> None:
    llama = load_llama(demo_model(), n_threads=1)
    prompts = [engine.prompt_of(asked(turns[0])).tokens for turns in held_out_prompts()]
    gaps = [difference(engine, llama, tuple(prompt)) for prompt in prompts]
    llama.close()
    # All are the same where both take the same kernels; elsewhere a tie may go the other way.
    assert gaps.count(None) >= 27
    assert all(gap is None or gap < 0.1 for gap in gaps)


def test_the_card_prints_all_held_out_prompts_and_warns() -> None:
    card = (demo_model().parent / "README.md").read_text(encoding="utf-8")
    prompts = held_out_prompts()
    assert len(prompts) == 30
    for turns in prompts:
        for turn in turns:
            assert " / ".join(line for line in turn.splitlines() if line) in card
    assert "not to be\nrelied on" in card or "not to be relied on" in card
