"""The demo model that ships: real text from our engine, the same as llama.cpp's, and its card."""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import demo_model as demo_models
from engine.cache_size import CacheSize
from engine.cli.main import main
from engine.demo_model import DEMO_CACHE, DEMO_CHATS, demo_model, is_demo_model
from engine.engine import Engine
from engine.events import Finished, Piece
from engine.model_info import inspect_model
from engine.options import EngineOptions
from engine.request import Message, Request
from engine.sampling import SamplingParams

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.corpus import held_out_prompts
from recipe.evaluate import (
    MOST_OF_TRIGRAM,
    difference,
    greedy_prompts,
    load_llama,
    own_prompts,
    share_of_trigram,
)
from recipe.evaluate import replies as replies_of

QUESTIONS = [chat[0] for chat in DEMO_CHATS]
MAX_TOKENS = 240  # the longest stories have some 200


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
    gaps = [
        difference(engine, llama, tuple(prompt))
        for turns in held_out_prompts()
        for prompt in greedy_prompts(engine, replies_of(engine, turns, temperatures=(0.0,)))
    ]
    llama.close()
    assert len(gaps) > 30  # later turns too
    # All are the same where both take the same kernels; elsewhere a tie may go the other way.
    assert gaps.count(None) >= 0.9 * len(gaps)
    assert all(gap is None or gap < 0.1 for gap in gaps)


def test_it_recommends_how_to_sample(engine: Engine) -> None:
    expected = {"temperature": 0.7, "top_k": 20, "top_p": 0.8, "min_p": 0.3}
    assert engine.model.sampling.values == pytest.approx(expected)


def test_a_path_through_a_link_leads_to_it_too(tmp_path: Path) -> None:
    (tmp_path / "installed").symlink_to(demo_model().parent)
    assert is_demo_model(tmp_path / "installed" / "demo.gguf")
    copy = shutil.copy(demo_model(), tmp_path)
    assert not is_demo_model(Path(copy))


def test_the_demo_of_the_terminal_answers_four_chats_within_ten_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--max-tokens", "8"]) == 0
    found = re.search(r"All chats were answered from ([\d.]+) s on", capsys.readouterr().out)
    assert found
    assert 0 < float(found[1]) < 10


@pytest.mark.parametrize(("n_bytes", "words"), [(None, "missing"), (100_000, "demo.gguf")])
def test_the_demo_of_the_terminal_says_in_a_sentence_what_is_wrong_with_the_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    n_bytes: int | None,
    words: str,
) -> None:
    path = tmp_path / "demo.gguf"
    if n_bytes is not None:
        path.write_bytes(demo_model().read_bytes()[:n_bytes])
    monkeypatch.setattr(demo_models, "_PLACES", (path,))
    assert main(["demo"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.startswith("runahead: ") and err.count("\n") == 1


def card() -> str:
    return (demo_model().parent / "README.md").read_text(encoding="utf-8")


def test_its_perplexity_is_at_most_half_of_a_trigrams() -> None:
    figures = {
        name: dict(zip(("all", "assistant"), map(float, values), strict=True))
        for name, *values in re.findall(
            r"^\| (this model|trigram) \| ([\d.]+) \| ([\d.]+) \|$", card(), re.MULTILINE
        )
    }
    perplexity = {"model": figures["this model"], "trigram": figures["trigram"]}
    assert share_of_trigram(perplexity) <= MOST_OF_TRIGRAM


def test_the_card_prints_all_held_out_prompts_and_warns() -> None:
    text = card()
    own, others = own_prompts(), held_out_prompts()
    assert len(own) == len(others) == 30
    for turns in own + others:
        for turn in turns:
            assert " / ".join(line for line in turn.splitlines() if line) in text
    assert "not to be relied on" in " ".join(text.split())
