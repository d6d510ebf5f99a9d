"""What the demo model has no facts on, it declines, in whatever words it is asked."""

import re
import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.corpus.forms import items, section_of, sections, table, text
from recipe.corpus.grammar import plural
from recipe.corpus.mixture import MIXTURE
from recipe.corpus.strange import (
    TOPICS,
    StrangeTopic,
    bare,
    is_unseen,
    known_names,
    strange_words,
    told_of,
)
from recipe.corpus.turn import Exchange


@pytest.fixture(scope="module")
def asked() -> list[Exchange]:
    rng, topic = Random(3), StrangeTopic()
    return [exchange for _ in range(6000) for exchange in topic.thread(rng)]


def test_no_strange_word_is_known_or_there_twice() -> None:
    words = [bare(text(word)) for row in table("strange.table") for word in items(row["items"])]
    assert len(words) > 1000
    assert len(words) == len(set(words))
    used = {bare(strange.word) for strange in strange_words()}
    assert not used & known_names()
    assert not {plural(word) for word in used} & known_names()


def test_no_strange_word_is_what_another_topic_tells_of() -> None:
    told = {s.name for name in ("nature", "runahead", "poems") for s in sections(f"{name}.forms")}
    assert not {bare(strange.word) for strange in strange_words()} & (told | told_of())


def test_a_part_of_the_words_is_never_trained(asked: list[Exchange]) -> None:
    unseen = [strange.word for strange in strange_words() if is_unseen(strange.word)]
    share = len(unseen) / len(strange_words())
    assert 0.08 < share < 0.18
    text_of_all = " ".join(exchange.question for exchange in asked).lower()
    for word in unseen:
        assert not re.search(rf"\b{re.escape(word.lower())}\b", text_of_all), word


def test_the_wordings_are_those_of_what_is_known(asked: list[Exchange]) -> None:
    kinds = {(s.kind, s.topic) for s in strange_words()}
    for topic in TOPICS:
        wanted = {s.name for s in sections(f"{topic}.forms") if s.questions}
        keys = [exchange.key.split("/") for exchange in asked]
        alike = {kind for kind, of in kinds if of == topic}
        found = {re.split(r"[?!~]", key[3])[0] for key in keys if key[1] in alike}
        assert wanted - found <= {"more", "crop", "task"}, topic


def test_every_answer_declines_without_the_name(asked: list[Exchange]) -> None:
    declines = re.compile(
        r"(?:do not|really) know|know nothing|never learned|no recipe|cannot help|beyond me"
    )
    offers = " ".join(section_of("unknown.forms", "offer").answers).lower()
    for exchange in asked:
        assert declines.search(exchange.answer) or "/after " in exchange.key, exchange
        assert "{" not in exchange.question + exchange.answer
        word = exchange.key.split("/")[2].lower()
        if word not in offers:
            assert not re.search(rf"\b{re.escape(word)}\b", exchange.answer.lower()), exchange


def test_strange_things_are_part_of_the_mixture() -> None:
    owners = [getattr(maker, "__self__", None) for maker, _ in MIXTURE]
    assert any(isinstance(owner, StrangeTopic) for owner in owners)
