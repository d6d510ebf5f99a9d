"""Colours: what paints make when they are mixed, what is blue, which colours are warm."""

from random import Random

from recipe.corpus.forms import Row, Section, framed, section_of, sections, table, text
from recipe.corpus.grammar import expand
from recipe.corpus.turn import Exchange, Thread

WARM = ("red", "orange", "yellow")
COLD = ("blue", "green", "purple")
# The mixtures of red, yellow and blue.
PRIMARY = ("blue yellow", "red yellow", "red blue")
# Sections of paints.forms and the tables that fill them; the others have no slots.
TABLES = {
    "mix": "paints.table",
    "make": "paints.table",
    "thing": "thing_colours.table",
    "opposite": "opposite_colours.table",
}


class PaintTopic:
    """Questions about colours in the forms of data/paints.forms."""

    name = "paints"

    def thread(self, rng: Random) -> Thread:
        """One question, at times the same about other colours."""
        roll = rng.random()
        if roll < 0.3:
            return self._tabled("mix", rng)
        if roll < 0.35:
            return self._all_three(rng)
        if roll < 0.48:
            return self._tabled("make", rng)
        if roll < 0.72:
            return self._tabled("thing", rng)
        if roll < 0.78:
            return self._tabled("opposite", rng)
        if roll < 0.84:
            return [self._warmth(rng)]
        plain = [s for s in sections("paints.forms") if s.name not in (*TABLES, "warmth")]
        return [self._exchange(rng.choice(plain), {}, rng, follows=False)]

    def _tabled(self, name: str, rng: Random) -> Thread:
        section = section_of("paints.forms", name)
        found: Thread = []
        for row in rng.sample(table(TABLES[name]), 3):
            values = dict(row)
            if name == "mix" and rng.random() < 0.5:
                values |= {"one": row["two"], "two": row["one"]}
            found.append(self._exchange(section, values, rng, follows=bool(found)))
            if rng.random() > 0.35:
                break
        return found

    def _all_three(self, rng: Random) -> Thread:
        """Two mixtures of the colours that all others are mixed from, then all of them."""
        section = section_of("paints.forms", "mix")
        primary = [row for row in table(TABLES["mix"]) if row["key"] in PRIMARY]
        first, second = rng.sample(primary, 2)
        last = section_of("paints.forms", "all three")
        return [
            self._exchange(section, first, rng, follows=False),
            self._exchange(section, second, rng, follows=True),
            self._exchange(last, {}, rng, follows=True),
        ]

    def _exchange(self, section: Section, values: Row, rng: Random, follows: bool) -> Exchange:
        if not follows and section.clauses and rng.random() < 0.3:
            form = rng.choice(section.clauses)
            mark = f"!{section.clauses.index(form)}"
            question = framed(expand(form, rng, values, capital=False), rng)
        else:
            asked = section.others if follows else section.questions
            form = rng.choice(asked)
            question, mark = expand(form, rng, values), f"{'>' if follows else '?'}{form}"
        about = text(next(iter(values.values()), "-"))
        answer = expand(rng.choice(section.answers), rng, values)
        return Exchange(f"paints/{section.name}/{about}/{mark}", question, answer)

    @staticmethod
    def _warmth(rng: Random) -> Exchange:
        section = section_of("paints.forms", "warmth")
        warm = rng.random() < 0.5
        name = rng.choice(WARM if warm else COLD)
        is_so = rng.random() < 0.5
        values: Row = {"name": name, "value": "warm", "other": "cold"}
        if warm != is_so:
            values |= {"value": "cold", "other": "warm"}
        form = rng.choice(section.questions)
        answer = expand(rng.choice(section.answers if is_so else section.additions), rng, values)
        key = f"paints/warmth/{name} {values['value']}/{section.questions.index(form)}"
        return Exchange(key, expand(form, rng, values), answer)
