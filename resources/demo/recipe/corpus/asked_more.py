"""What people ask most about topics of facts: the rows drawn more often, and what is of no row."""

from functools import cache
from random import Random

from recipe.corpus.forms import Row, table, text
from recipe.corpus.grammar import plural
from recipe.corpus.kitchen import KitchenTopic
from recipe.corpus.scripts import ScriptTopic
from recipe.corpus.turn import Thread

# How often what is asked about a topic is in data/`name`_more.forms.
SHARES = {"space": 0.4, "countries": 0.15, "cities": 0.25, "foods": 0.4}


def rows_of(name: str) -> tuple[Row, ...]:
    """The rows of data/`name`.table, each as many times as its column "draws" says, if any."""
    found: list[Row] = []
    for row in table(f"{name}.table"):
        found += [_with_names(row)] * int(text(row.get("draws", "1")))
    return tuple(found)


def more_asked(name: str, rng: Random) -> Thread:
    """At times a thread of what is asked about `name` besides its rows, else none."""
    if name == "recipes":
        return _kitchen().thread(rng) if rng.random() < 0.5 else []
    return _scripts(name).thread(rng) if rng.random() < SHARES.get(name, 0) else []


def told_of(answer: str, rows: tuple[Row, ...]) -> Row | None:
    """The one of `rows` that `answer` is about, if it opens with its name."""
    opened = (row for row in rows if answer.startswith(f"{text(row['name'])} is "))
    return next(opened, None)


@cache
def _kitchen() -> KitchenTopic:
    return KitchenTopic()


@cache
def _scripts(name: str) -> ScriptTopic:
    return ScriptTopic(f"{name}_more", brief=True)


def _with_names(row: Row) -> Row:
    """`row` with the plural of its name, and with the words for it where it has a verb."""
    if "verb" in row:
        several = row["verb"] == "are"
        words = ("they", "them", "taste") if several else ("it", "it", "tastes")
        row = {**row, **dict(zip(("they", "them", "tastes"), words, strict=True))}
    return {"names": plural(text(row["name"])), **row}
