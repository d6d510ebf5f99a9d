"""How two things differ that people mix up: a lake and a pond, rain and snow."""

from functools import cache
from random import Random

from recipe.corpus.forms import Row, framed, section_of, table, text
from recipe.corpus.grammar import Value, article, expand, plural
from recipe.corpus.turn import Exchange, Thread

# Of what can be asked that is in no row of data/differences.table.
STRANGE = (
    *("carburettor", "dynamo", "haiku", "sonnet", "bond", "share", "loan", "mortgage", "tax"),
    *("protein", "virus", "bacterium", "atom", "molecule", "proton", "verb", "adverb", "noun"),
    *("router", "modem", "server", "tablet", "laptop", "kernel", "compiler", "database"),
    *("lawyer", "judge", "senator", "president", "treaty", "law", "sandal", "slipper"),
    *("waltz", "tango", "symphony", "opera", "canoe", "kayak", "hurricane", "tornado"),
)


class DifferenceTopic:
    """The pairs of data/differences.table in either order, and pairs that are not known."""

    name = "differences"

    def thread(self, rng: Random) -> Thread:
        """One question, at times more of the kind."""
        found = [self._exchange(rng, follows=False)]
        while len(found) < 3 and rng.random() < 0.25:
            found.append(self._exchange(rng, follows=True))
        return found

    def _exchange(self, rng: Random, follows: bool) -> Exchange:
        known = rng.random() < 0.85
        section = section_of("differences.forms", "known")
        if known:
            row = rng.choice(table("differences.table"))
            sides = _sides(row)
        else:
            row, sides = {}, self._unknown(rng)
        (first, one, ones), (second, two, twos) = rng.sample(sides, 2)
        values: dict[str, Value] = {**row, "one": one, "ones": ones, "two": two, "twos": twos}
        if not follows and rng.random() < 0.2:
            form = rng.choice(section.clauses)
            question = framed(expand(form, rng, values, capital=False), rng, brief=False)
        else:
            form = rng.choice(section.others if follows else section.questions)
            question = expand(form, rng, values)
        answers = section.answers if known else section_of("differences.forms", "unknown").answers
        key = f"differences/{first}/{second}/{form}"
        return Exchange(key, question, expand(rng.choice(answers), rng, values))

    @staticmethod
    def _unknown(rng: Random) -> list[tuple[str, str, str]]:
        """Two things of which no pair is known: of two rows, or one or both in none."""
        while True:
            one, two = rng.sample(table("differences.table"), 2)
            sides = [rng.choice(_sides(one)), rng.choice(_sides(two))]
            strange = rng.choice((0, 0, 1, 1, 2))
            for i, name in enumerate(rng.sample(STRANGE, strange)):
                sides[i] = (name, f"{article(name)} {name}", plural(name))
            pair = frozenset(name for name, _, _ in sides)
            if len(pair) == 2 and pair not in known_pairs() and not _compared(pair):
                return sides


@cache
def known_pairs() -> frozenset[frozenset[str]]:
    """The names of each pair whose difference is known."""
    rows = table("differences.table")
    return frozenset(frozenset((text(row["one"]), text(row["two"]))) for row in rows)


def _compared(pair: frozenset[str]) -> bool:
    """Whether `pair` are two animals, of which comparisons tell."""
    return pair <= {row["name"] for row in table("animals.table")}


def _sides(row: Row) -> list[tuple[str, str, str]]:
    """Each of a pair: its name, with its article, and of several."""
    counted = row.get("counted", "")
    sides = []
    for side in ("one", "two"):
        name = text(row[side])
        several = counted == "yes" or (counted == "mixed" and side == "two")
        sides.append(
            (name, f"{article(name)} {name}", plural(name)) if several else (name, name, name)
        )
    return sides
