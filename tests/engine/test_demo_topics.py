"""What each topic of the demo model's corpus says: true, in order, and nothing twice."""

import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.corpus import Turn, conversations
from recipe.corpus.entities import DECLINED, WHY
from recipe.corpus.forms import items, sections, table, text
from recipe.corpus.grammar import plural
from recipe.corpus.memory import MemoryTopic
from recipe.corpus.mixture import FACTS, holds
from recipe.corpus.numbers import NUMBERS, NumberTopic
from recipe.corpus.order import in_order
from recipe.corpus.poems import PoemTopic
from recipe.corpus.split import normalised
from recipe.corpus.turn import Exchange, Thread
from recipe.corpus.unknown import UnknownTopic
from recipe.corpus.words import COUNTS, WordTopic


def talks(make: Callable[[Random], Thread], count: int = 400) -> list[Exchange]:
    rng = Random(5)
    return [exchange for _ in range(count) for exchange in make(rng)]


@pytest.fixture(scope="module")
def said() -> list[Turn]:
    return [turn for c in conversations("train", 11, 1500) for turn in c]


@pytest.mark.parametrize("name", FACTS)
def test_an_answer_about_an_entity_stands_alone(name: str) -> None:
    for exchange in talks(FACTS[name].thread):
        opening = r"^((Gladly|Sure|Of course|With pleasure)!|There is more\.) "
        opened = re.sub(opening, "", exchange.answer)
        assert not re.match(r"(Also|They) ", opened), exchange.answer
        assert not opened.startswith(("Also,", "And "))


def test_what_is_asked_of_them_does_not_say_they(said: list[Turn]) -> None:
    for turn in said:
        if turn.role == "user":
            assert not re.search(r"\b(find|recognise|cares for|grow|makes|see) they\b", turn.text)
            assert not re.search(r"\bwhat people (use|grow) they\b", turn.text)


def test_no_answer_says_twice_that_it_knows(said: list[Turn]) -> None:
    for turn in said:
        assert turn.text.count("I know that ") < 2
        assert turn.text.count("Also, ") < 2
        assert turn.text.count("Get well soon") < 2


def test_a_list_holds_no_item_twice(said: list[Turn]) -> None:
    for turn in said:
        if turn.role == "assistant":
            # Two clauses may each have a list of their own.
            for sentence in re.split(r"[.!?:]|, (?:and|but) ", turn.text):
                if re.fullmatch(r"[\w' ]+(, [\w' ]+)+ and [\w' ]+", sentence):
                    listed = re.split(r", | and ", sentence.lower())
                    assert len(listed) == len(set(listed)), sentence


def test_some_are_chosen_in_their_order() -> None:
    rng = Random(8)
    chosen = [in_order("abcdef", 3, rng) for _ in range(300)]
    assert all(found == sorted(found) and len(found) == 3 for found in chosen)
    assert {letter for found in chosen for letter in found} == set("abcdef")
    assert in_order("ab", 3, rng) == ["a", "b"]


@pytest.mark.parametrize("name", FACTS)
def test_facts_are_told_in_the_order_of_the_table_and_nothing_is_told_twice(name: str) -> None:
    topic = FACTS[name]
    n_in_order = 0
    told = talks(topic.thread_about, 80)
    for row in topic.rows:
        subject = str(row["names"] if name in ("animals", "plants", "objects") else row["name"])
        facts = [text(fact) for fact in items(row.get("facts", ()))]
        known = [re.compile(fact.replace("@", f"({subject}|they|it)"), re.I) for fact in facts]
        for exchange in told:
            found = [pattern.search(exchange.answer) for pattern in known]
            starts = [match.start() for match in found if match]
            assert starts == sorted(starts), exchange.answer
            n_in_order += len(starts) > 1
    assert n_in_order or name == "recipes"
    for exchange in talks(topic.thread, 800):
        sentences = re.findall(r"[^.!?]+[.!?]", exchange.answer)
        assert len(sentences) == len(set(sentences)), exchange.answer


def test_more_about_an_entity_is_new() -> None:
    n_more = 0
    for make in (FACTS[name].thread for name in ("animals", "cities", "plants")):
        rng = Random(12)
        for _ in range(1600):
            thread = make(rng)
            for before, after in pairwise(thread):
                if "/about/" in before.key and "/more/" in after.key:
                    n_more += 1
                    said = set(re.findall(r"[^.!?]{15,}[.!?]", before.answer))
                    assert not said & set(re.findall(r"[^.!?]{15,}[.!?]", after.answer)), thread
    assert n_more > 50


@pytest.mark.parametrize("name", ["animals", "space", "foods"])
def test_why_is_answered_with_the_fact_that_was_told(name: str) -> None:
    rng = Random(13)
    n_asked = 0
    for _ in range(1500):
        for before, after in pairwise(FACTS[name].thread(rng)):
            of_a_row = "_more/" not in after.key
            if of_a_row and after.question in WHY and after.answer not in DECLINED:
                n_asked += 1
                told = re.split(r"\. |: |that ", before.answer)[-1].rstrip(".")
                # The last words, for a fact may have been told about "them".
                assert " ".join(told.lower().split()[-3:]) in after.answer.lower(), (before, after)
    assert n_asked > 15


def test_what_is_told_is_remembered_and_what_is_not_told_is_not_known() -> None:
    rng = Random(7)
    for _ in range(200):
        thread = MemoryTopic(FACTS["animals"].thread).thread(rng)
        told: dict[str, str] = {}
        for exchange in thread:
            for key in exchange.key.split(" & "):
                topic, group, value, form = key.split("/", 3)
                if topic == "memory" and form.startswith("?"):
                    told[group] = value
            if form.startswith("?"):
                continue
            if topic == "memory" and value != "-":
                assert told[group] in exchange.answer
            elif topic == "memory":
                assert group not in told
                assert re.search("not told me|do not know", exchange.answer)


def test_rhymes_are_as_many_as_asked_for_and_in_the_order_of_the_table() -> None:
    families = [items(row["words"]) for row in table("rhymes.table")]
    for exchange in talks(WordTopic().thread, 1000):
        found = re.search(r"(\w+) rhymes with ([\w, ]+)\.", exchange.answer)
        if not found:
            continue
        word, listed = found[1].lower(), re.split(", | and ", found[2])
        known = next([w for w in f if w != word] for f in families if word in f)
        assert listed == known[: len(listed)]
        asked = re.search(r"\b(\w+) (?:words|rhymes)\b", exchange.question)
        if asked and asked[1].lower() in COUNTS:
            count = COUNTS.index(asked[1].lower()) + 1
            assert len(listed) == min(count, len(known))
            assert (count > len(known)) == ("know no more" in exchange.answer)


def test_a_poem_is_called_by_its_own_subject() -> None:
    for exchange in talks(PoemTopic().thread):
        if "\n" not in exchange.answer:
            continue
        title, _, second, *_ = exchange.answer.split("\n")
        section = next(s for s in sections("poems.forms") if title.endswith(f" about {s.name}:"))
        assert second.lower() in [a.split(" / ")[1].lower() for a in section.answers]


def test_what_is_not_known_is_not_named() -> None:
    # Whole fields, which are the same for all that is asked about them.
    fields = ("that", "history", "politics", "prices", "sport")
    for exchange in talks(UnknownTopic().thread, 1000):
        found = re.search(r"(not know|nothing|never learned|enough) about (\w+)", exchange.answer)
        assert found is None or found[2] in fields, exchange.answer


def test_sums_and_counts_are_right() -> None:
    for exchange in talks(NumberTopic().thread, 1000):
        told = exchange.answer.rstrip(".").lower()
        if found := re.fullmatch(r"(\w+) plus (\w+) is (\w+)", told):
            one, two, both = (NUMBERS.index(word) + 1 for word in found.groups())
            assert one + two == both
        elif exchange.key.split("/")[1] in ("count", "ten", "twenty", "between"):
            counted = [NUMBERS.index(word) for word in told.split(", ")]
            assert counted == list(range(counted[0], counted[-1] + 1))


def test_paints_make_the_same_in_either_order() -> None:
    mixed = {frozenset((r["one"], r["two"])) for r in table("paints.table")}
    assert len(mixed) == len(table("paints.table"))


def test_where_food_comes_from_is_a_sentence() -> None:
    for row in table("foods.table"):
        assert re.match(r"(grows?|comes?|(is|are) made) ", str(row["origin"]))


def test_a_prompt_inside_of_a_message_is_found() -> None:
    openings = {normalised("Which birds sleep in trees?"), normalised("Hi")}
    assert holds("Hello! which birds sleep in trees", openings)
    assert holds("hi!", openings)
    assert not holds("Hi, which birds sleep?", openings)


@pytest.mark.parametrize(
    ("noun", "expected"),
    [("goldfish", "goldfish"), ("piece of furniture", "pieces of furniture"), ("fish", "fish")],
)
def test_plurals_of_fish_and_of_compounds(noun: str, expected: str) -> None:
    assert plural(noun) == expected
