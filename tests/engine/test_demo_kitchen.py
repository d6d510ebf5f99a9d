"""What the demo model's corpus says about dishes that many people make."""

from random import Random

from recipe.corpus.forms import items, table, text
from recipe.corpus.kitchen import KitchenTopic
from recipe.corpus.meals import SUGGESTED


def test_how_a_dish_is_wanted_does_not_change_its_recipe() -> None:
    steps = {text(row["name"]): text(row["steps"]) for row in table("recipes.table")}
    rng, topic = Random(3), KitchenTopic()
    found = [exchange for _ in range(2000) for exchange in topic.thread(rng)]
    made = [e for e in found if e.key.startswith("kitchen/steps/")]
    assert len(made) > 800
    assert all(steps[e.key.split("/")[2]] in e.answer for e in made)
    assert any("easy" in e.question for e in made)
    assert not any("{" in e.question + e.answer for e in found)


def test_what_is_suggested_has_a_recipe() -> None:
    rows = {text(row["name"]): row for row in table("recipes.table")}
    assert set(SUGGESTED.values()) <= rows.keys()
    assert all(len(items(row["foods"])) > 1 for row in rows.values())
    assert all("degrees" in text(row["oven"]) for row in rows.values() if "oven" in row)
