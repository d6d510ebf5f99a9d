"""What the demo model's corpus says to yes/no questions, comparisons, lists and about meals."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.corpus.checks import CheckTopic
from recipe.corpus.comparisons import ComparisonTopic
from recipe.corpus.differences import DifferenceTopic, known_pairs
from recipe.corpus.forms import items, names, table, text
from recipe.corpus.lists import NUMBERS, ListTopic, one_of
from recipe.corpus.meals import MealTopic, dish_of
from recipe.corpus.mixture import FACTS
from recipe.corpus.turn import Exchange, Thread


def talks(make: Callable[[Random], Thread], count: int = 2000) -> list[Exchange]:
    rng = Random(5)
    return [exchange for _ in range(count) for exchange in make(rng)]


def test_a_check_is_answered_with_the_fact_alone() -> None:
    for exchange in talks(CheckTopic(FACTS).thread):
        assert not re.search(r"^(Yes|No)\b|, so |that is right|, not ", exchange.answer), exchange


def test_the_animal_that_is_named_first_is_that_of_the_word() -> None:
    sizes, speeds = (
        {name: size for size, row in enumerate(table(f)) for name in items(row["animals"])}
        for f in ("sizes.table", "speeds.table")
    )
    assert len(sizes) > 80
    assert sizes.keys() | speeds.keys() <= {row["name"] for row in table("animals.table")}
    n_found = 0
    for exchange in talks(ComparisonTopic().thread):
        found = re.fullmatch(r"An? (.+) is (\w+) than an? (.+)\.", exchange.answer)
        if found:
            n_found += 1
            assert found[2] in exchange.question.lower()
            ranks = speeds if found[2] in ("faster", "slower", "quicker") else sizes
            first, second = ranks[found[1]], ranks[found[3]]
            assert (first < second) == (found[2] in ("smaller", "lighter", "slower")), exchange
            assert first != second
    assert n_found > 300


def test_a_difference_is_told_in_either_order_and_others_are_declined() -> None:
    told = {text(row["told"]) for row in table("differences.table")}
    assert len(told) == len(known_pairs()) == len(table("differences.table"))
    n_known = 0
    for exchange in talks(DifferenceTopic().thread):
        _, one, two, _ = exchange.key.split("/", 3)
        known = frozenset((one, two)) in known_pairs()
        assert known == (exchange.answer in told), exchange
        n_known += known
        assert known or exchange.answer.count("I do not know that difference") == 1
    assert n_known > 1500


def test_a_list_has_as_many_as_asked_for_and_goes_on_behind_them() -> None:
    rows = {row["name"]: row for row in table("lists.table")}
    rng = Random(6)
    for _ in range(2000):
        thread = ListTopic().thread(rng)
        if "/unknown/" in thread[0].key:
            assert "I do not know any of those" in thread[0].answer
            continue
        if "/all " in thread[0].key:
            continue
        listed = [text(item) for item in items(rows[thread[0].key.split("/")[1]]["items"])]
        answer = re.sub(r"^(Here are .*: |How about )", "", thread[0].answer).rstrip(".?")
        found = re.split(r", | and (?!seek|ladders)", answer)
        count = int(thread[0].key.split("/")[3])
        if count == 1:
            assert answer.lower() == one_of(listed[0]).lower(), thread
        else:
            assert [one.lower() for one in found] == [one.lower() for one in listed[:count]], thread
        asked = re.search(rf"\b({'|'.join(NUMBERS)}|\d)\b", thread[0].question.lower())
        if asked and "{count}" in thread[0].key:
            assert asked[1] in (str(count), NUMBERS[count - 1])
        for exchange in thread[1:]:
            if exchange.key.endswith("/favourite"):
                continue
            if "know another" not in exchange.answer and "cannot" not in exchange.answer:
                more = re.sub(r"^How about ", "", exchange.answer).rstrip(".?")
                assert more.lower().startswith(listed[count].lower()), thread
                count += int(exchange.key.split("more ")[1][0])


def test_one_of_a_list_has_its_article() -> None:
    for several, one in (
        *(("owls", "an owl"), ("cherries", "a cherry"), ("geese", "a goose"), ("bread", "bread")),
        *(("foxes", "a fox"), ("horses", "a horse"), ("buses", "a bus"), ("Paris", "Paris")),
        *(("the roots", "the roots"), ("houses", "a house"), ("polar bears", "a polar bear")),
    ):
        assert one_of(several) == one


def test_a_dish_is_of_what_is_there() -> None:
    rows = table("meals.table")
    for row in rows:
        assert dish_of(list(items(row["have"])))["have"] == row["have"]
    assert dish_of(["rice", "beans", "cheese"])["dish"] == "rice with beans"
    told = {text(row["told"]) for row in rows}
    found = [e for e in talks(MealTopic().thread) if "{have}" in e.key]
    assert len(found) > 400
    assert all(exchange.answer in told for exchange in found)


@pytest.mark.parametrize("group", ["animals", "countries", "cities", "plants", "foods"])
def test_what_is_declined_as_unknown_is_in_no_table(group: str) -> None:
    known = {row["name"] for row in table(f"{group}.table")}
    assert known.isdisjoint(names(f"unknown {group}"))
