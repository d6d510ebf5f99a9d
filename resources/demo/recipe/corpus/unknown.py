"""What the model does not know: it says so politely and offers what it can do."""

from random import Random

from recipe.corpus.forms import Section, framed, names, section_of, sections
from recipe.corpus.grammar import expand
from recipe.corpus.poems import PoemTopic
from recipe.corpus.turn import Exchange, Thread

LARGE = (*(str(n) for n in range(11, 100)), "125", "144", "250", "365", "512", "999", "1000")
SMALL = (*names("numbers"), *(str(n) for n in range(1, 11)))
OPERATIONS = ("times", "plus", "minus", "divided by", "*", "+", "-", "/", "and", "x")
ADDED = ("plus", "+", "and")
POEMS = PoemTopic()
# Sections about one of a list that is called "unknown" and this.
UNKNOWN = {
    **{"animal": "animals", "country": "countries", "city": "cities"},
    **{"plant": "plants", "food": "foods"},
}
# Sections whose answers end without an offer of something else.
ALONE = ("medical", "nonsense", "personal", "time", "date")


class UnknownTopic:
    """Questions beyond the model, as data/unknown.forms and data/names.table have them."""

    name = "unknown"

    def thread(self, rng: Random) -> Thread:
        """One question that is declined, at times two."""
        if rng.random() < 0.1:
            return [POEMS.other(rng)]
        named = {s.name: s for s in sections("unknown.forms")}
        roll = rng.random()
        others = [s for s in named.values() if s.name not in ("subject", "maths", "offer")]
        section = named["subject" if roll < 0.25 else "maths"] if roll < 0.4 else rng.choice(others)
        found = [self._exchange(section, rng)]
        again = 0.3 if section.follow_ups else 0.15
        while len(found) < 3 and rng.random() < again:
            if not section.follow_ups:
                section = rng.choice(others)
            found.append(self._exchange(section, rng, follows=True))
        return found

    @staticmethod
    def _exchange(section: Section, rng: Random, follows: bool = False) -> Exchange:
        subject = rng.choice(names("subjects"))
        if rng.random() < 0.3:
            subject = f"{rng.choice(names('kinds of subjects'))} {rng.choice(names('fields'))}"
        numbers = (LARGE, LARGE, SMALL)
        values = {
            "subject": subject,
            "first": rng.choice(rng.choice(numbers)),
            "second": rng.choice(rng.choice(numbers)),
            "large": rng.choice(LARGE[10:]),
            "operation": rng.choice(OPERATIONS),
            **{name: rng.choice(names(f"unknown {group}")) for name, group in UNKNOWN.items()},
        }
        asked = section.follow_ups if follows and section.follow_ups else section.questions
        if section.clauses and asked is section.questions and rng.random() < 0.3:
            form = rng.choice(section.clauses)
            wording = f"!{section.clauses.index(form)}"
            question = framed(expand(form, rng, values, capital=False), rng)
        else:
            form = rng.choice(asked)
            # Small sums, and which small numbers are even, are known.
            if "{operation}" not in form or values["operation"] in ADDED:
                values["first"] = rng.choice(LARGE)
            wording = f"{'~' if asked is section.follow_ups else ''}{asked.index(form)}"
            question = expand(form, rng, values)
        answer = expand(rng.choice(section.answers), rng, values)
        if section.name not in (*UNKNOWN, *ALONE) and rng.random() < 0.35:
            answer += " " + expand(rng.choice(section_of("unknown.forms", "offer").answers), rng)
        return Exchange(
            f"unknown/{section.name}/{values.get(section.name, '-')}/{wording}", question, answer
        )
