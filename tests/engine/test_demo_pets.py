"""Advice on pets, and two things that are asked at once."""

import re
from random import Random

import pytest
from recipe.corpus.forms import table, text
from recipe.corpus.mixture import FACTS
from recipe.corpus.pets import PetTopic


def test_which_pet_takes_more_care_does_not_depend_on_how_it_is_asked() -> None:
    order = [text(row["name"]) for row in table("pets.table")]
    rng = Random(1)
    n_asked = 0
    for _ in range(2000):
        for exchange in PetTopic().thread(rng):
            found = re.match(r"An? ([\w ]+) takes more care than an? ([\w ]+),", exchange.answer)
            if found:
                n_asked += 1
                assert order.index(found[1]) > order.index(found[2]), exchange
    assert n_asked > 100


@pytest.mark.parametrize("name", FACTS)
def test_two_things_asked_at_once_are_both_told(name: str) -> None:
    rng = Random(2)
    n_asked = 0
    for _ in range(2000):
        for exchange in FACTS[name].thread(rng):
            if "+" in exchange.key.split("/")[1]:
                n_asked += 1
                assert len(re.findall(r"[^.!?]+[.!?]", exchange.answer)) >= 2, exchange
    assert n_asked > 20 or name in ("foods", "colours", "space", "recipes")
