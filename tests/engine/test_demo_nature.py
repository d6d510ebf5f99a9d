"""The demo model's corpus: what is asked about nature, everyday objects and colours."""

import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.corpus.entities import EntityTopic
from recipe.corpus.forms import section_of, sections, table
from recipe.corpus.paints import PaintTopic
from recipe.corpus.scripts import ScriptTopic


def test_what_is_asked_upon_an_answer_follows_only_that_answer() -> None:
    nature = ScriptTopic("nature", 0.9, brief=True)
    found = 0
    for seed in range(3000):
        names = [exchange.key.split("/")[1] for exchange in nature.thread(Random(seed))]
        for name in names[1:]:
            if name.startswith("upon "):
                found += 1
                assert name.removeprefix("upon ").split(",")[0] in names
    assert found > 100


def test_every_section_that_follows_one_names_a_section() -> None:
    names = {section.name for section in sections("nature.forms")}
    upon = {name.removeprefix("upon ").split(",")[0] for name in names if name.startswith("upon ")}
    assert upon and upon <= names


def test_sections_asked_often_weigh_more() -> None:
    assert section_of("nature.forms", "rain").weight == 3
    assert section_of("nature.forms", "dew").weight == 1


def test_every_object_has_another_use_than_its_usual_one() -> None:
    for row in table("objects.table"):
        assert row["extra"] not in (row["use"], row["usual"]), row["name"]


def test_a_task_is_answered_with_a_thing_that_serves_it() -> None:
    objects = EntityTopic("objects", plural_subject=True)
    rows = {row["name"]: row for row in objects.rows}
    asked = [e for seed in range(2000) for e in objects.thread(Random(seed))]
    told = [e for e in asked if e.key.split("/")[1] == "task"]
    assert told
    for exchange in told:
        name = exchange.key.split("/")[2]
        assert "task" in rows[name]
        assert str(name) in exchange.answer


def test_all_three_colours_are_asked_about_after_two_of_their_mixtures() -> None:
    paints = PaintTopic()
    threads = [paints.thread(Random(seed)) for seed in range(1000)]
    last = [t for t in threads if t[-1].key.split("/")[1] == "all three" and len(t) > 1]
    assert last
    for thread in last:
        assert [exchange.key.split("/")[1] for exchange in thread[:-1]] == ["mix", "mix"]
