"""What the tables and forms of the demo model's facts hold: enough ways to ask, and no gaps."""

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.corpus.entities import COMPOSED
from recipe.corpus.forms import section_of, sections, table, text
from recipe.corpus.mixture import FACTS

# Topics, and columns that every row of theirs has.
FULL = {
    "animals": ("size", "defence", "danger", "pets", "moves", "awake", "company", "enemies"),
    "objects": ("works", "who"),
    "cities": ("eat", "season"),
    "countries": ("weather", "flag", "see"),
    "space": ("far", "living"),
}


@pytest.mark.parametrize("topic", FULL)
def test_every_row_has_what_people_often_ask_for(topic: str) -> None:
    for row in table(f"{topic}.table"):
        assert set(FULL[topic]) <= row.keys(), row["name"]


@pytest.mark.parametrize("topic", [*FULL, "colours"])
def test_each_aspect_can_be_asked_for_in_many_ways(topic: str) -> None:
    for section in sections(f"{topic}.forms"):
        if section.name not in (*COMPOSED, "one", "has_air", "task"):
            assert len(section.questions) >= 12, section.name
            assert len(section.follow_ups) >= 5, section.name
            assert len(set(section.questions)) == len(section.questions), section.name


@pytest.mark.parametrize("topic", [*FULL, "colours"])
def test_what_the_model_offers_to_tell_does_not_speak_of_itself(topic: str) -> None:
    for section in sections(f"{topic}.forms"):
        for clause in section.clauses:
            assert not set(clause.split()) & {"I", "me", "my"}, clause


def test_what_is_asked_of_danger_and_pets_is_answered_with_the_fact_alone() -> None:
    animals = {text(row["name"]): row for row in table("animals.table")}
    n_asked = 0
    rng = Random(3)
    for exchange in (e for _ in range(1500) for e in FACTS["animals"].thread(rng)):
        _, aspect, name, *_ = exchange.key.split("/")
        if aspect in ("danger", "pets"):
            n_asked += 1
            assert text(animals[name][aspect]) in exchange.answer
            assert not exchange.answer.startswith(("Yes", "No"))
    assert n_asked > 50
    assert section_of("animals.forms", "danger").answers == ["{names} {danger}."]
