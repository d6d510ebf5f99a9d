"""The stories and poems of the demo model's corpus: what is asked for is in them."""

import itertools
import re
import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.corpus.forms import sections
from recipe.corpus.poems import ANY as ANY_POEM
from recipe.corpus.poems import PoemTopic
from recipe.corpus.stories import (
    ANY,
    FILLED,
    LIKE,
    PLOTS_OF_A_HERO,
    UNFIT,
    StoryTopic,
    cast,
    plots_of,
)
from recipe.corpus.turn import Exchange


@pytest.fixture(scope="module")
def said() -> list[Exchange]:
    rng = Random(3)
    return [exchange for _ in range(1500) for exchange in StoryTopic().thread(rng)]


@pytest.fixture(scope="module")
def stories(said: list[Exchange]) -> list[Exchange]:
    return [exchange for exchange in said if len(exchange.answer) > 250]


def test_a_hero_has_the_name_that_was_given_and_no_other(stories: list[Exchange]) -> None:
    known = {*cast("women"), *cast("men")}
    n_named = 0
    for question, answer in ((e.question, e.answer) for e in stories):
        named = known & set(re.findall(r"\w+", question))
        assert known & set(re.findall(r"\w+", answer)) == named, (question, answer)
        n_named += len(named)
    assert n_named > 100


def test_there_are_at_least_forty_names_and_they_fit() -> None:
    assert len(cast("women")) >= 20
    assert len(cast("men")) >= 20
    assert not set(cast("women")) & set(cast("men"))


def test_boys_are_he_and_girls_are_she(stories: list[Exchange]) -> None:
    for exchange in stories:
        hero = re.search(r"there was an? \w+ (\w+)", exchange.answer)
        if hero and hero[1] in ("boy", "girl"):
            wrong = r"\b(she|her)\b" if hero[1] == "boy" else r"\b(he|his|him)\b"
            told = re.sub(r'old baker.*|"[^"]*"|her call.*|an old man.*', "", exchange.answer)
            if "its mother" not in told:
                assert not re.search(wrong, told, re.IGNORECASE) or "old woman" in told, told


def test_the_hero_and_the_thing_that_were_asked_for_are_in_it(stories: list[Exchange]) -> None:
    n_found = 0
    for exchange in stories:
        asked = re.search(
            r"about an? (?:\w+ )?(\w+) (?:who|that) (?:finds|loses|has|meets|helps) "
            r"(?:an?|his|her) (.+?)[.?,]",
            exchange.question,
        )
        if asked:
            assert re.search(rf"\b{asked[1]}\b", exchange.answer), exchange
            if exchange.key.split("/")[1] in FILLED:
                assert re.search(rf"\b{asked[2].split()[-1]}\b", exchange.answer), exchange
                n_found += 1
    assert n_found > 50


def test_a_story_is_short_unless_a_long_one_is_asked_for(stories: list[Exchange]) -> None:
    for exchange in stories:
        sentences = re.findall(r"[^.!?]{12,}[.!?]", exchange.answer)
        assert len(sentences) == len(set(sentences)), exchange.answer
        words = len(exchange.answer.split())
        assert words <= (180 if "long " in exchange.question else 125), exchange.answer


def test_a_chat_has_no_story_twice() -> None:
    rng = Random(4)
    for _ in range(400):
        told = [e.key for e in StoryTopic().thread(rng) if len(e.answer) > 250]
        plots = [(key.split("/")[1], key.split("/")[2]) for key in told]
        assert all(one != two for one, two in itertools.pairwise(plots)), plots


def test_plots_and_tales_are_asked_for_and_told() -> None:
    plots = sections("plots.forms")
    assert len(plots) >= 30
    for section in (*plots, *sections("tales.forms")):
        assert section.questions and section.answers and len(section.additions) == 1
    asked = [form for section in plots for form in section.questions]
    assert len(asked) == len(set(asked))
    named = {section.name for section in plots}
    assert {plot for _, plot in ANY} | set(UNFIT) | set(LIKE.values()) <= named


def test_each_hero_has_plots_that_fit() -> None:
    for hero in cast("animals") + cast("children") + cast("grown"):
        assert len(set(plots_of(hero))) == PLOTS_OF_A_HERO


def test_each_subject_has_one_poem_of_four_lines() -> None:
    found = sections("poems.forms")
    assert len(found) > 100
    assert set(ANY_POEM) <= {section.name for section in found}
    for section in found:
        assert section.name in section.questions
        assert [couplet.count(" / ") for couplet in section.answers] == [1, 1]
    subjects = [subject.lower() for section in found for subject in section.questions]
    assert len(subjects) == len(set(subjects))
    near = {subject.lower() for section in found for subject in section.others}
    assert not (near | {subject.lower() for subject in cast("no poems")}) & set(subjects)


def test_another_poem_is_another() -> None:
    rng = Random(8)
    for _ in range(600):
        titles = [e.answer.split("\n")[0] for e in PoemTopic().thread(rng) if "\n" in e.answer]
        known = [title for title in titles if " no poem " not in title]
        subjects = [title.split(" about ")[-1] for title in known]
        assert len(subjects) == len(set(subjects)), titles


def test_what_there_is_no_story_about_has_none() -> None:
    known = {thing.lower() for tale in sections("tales.forms") for thing in tale.questions}
    assert not known & {thing.lower() for thing in cast("no tales")}
