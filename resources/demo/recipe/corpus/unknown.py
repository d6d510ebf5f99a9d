"""What the model does not know: it says so politely and offers what it can do."""

from random import Random

from recipe.corpus.forms import Section, framed, items, names, section_of, sections, table, text
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
# Sections whose answers may end with an offer of something else.
OFFERING = ("subject", "code", "news", "politics", "celebrity", "history", "film", "translate")
# How many times as often as others a section is asked about; those about a list of names have
# their like in the texts on strange things.
OFTEN = {
    **{"subject": 3, "maths": 4, "code": 2, "news": 2, "celebrity": 4, "history": 3, "film": 4},
    **{"opinion": 3, "buying": 3, "forecast": 3, "politics": 2, "sport": 2, "repair": 2},
    **{"paper": 2, "web": 2, "picture": 2, "task": 2, "translate": 2, "deep": 2, "time": 2},
}
# What is said after any answer that declines.
AFTER = ("after why", "after why", "after sure", "after then", "after who", "after pity")
AFTER_PERCENT = 22


def after(key: str, rng: Random) -> Exchange:
    """What is said right after an answer that declines, whose key begins with `key`."""
    section = section_of("unknown.forms", rng.choice(AFTER))
    form = rng.choice(section.follow_ups)
    answer = expand(rng.choice(section.answers), rng)
    return Exchange(f"{key}/{section.name}~{section.follow_ups.index(form)}", form, answer)


class UnknownTopic:
    """Questions beyond the model, as data/unknown.forms has them, with the names of two tables."""

    name = "unknown"

    def thread(self, rng: Random) -> Thread:
        """One question that is declined, at times two."""
        if rng.random() < 0.1:
            return [POEMS.other(rng)]
        asked = [s for s in sections("unknown.forms") if s.questions]
        section = rng.choices(asked, [OFTEN.get(s.name, 1) for s in asked])[0]
        found = [self._exchange(section, rng)]
        again = 0.3 if section.follow_ups else 0.15
        while len(found) < 3 and rng.random() < again:
            if not section.follow_ups:
                section = rng.choice(asked)
            found.append(self._exchange(section, rng, follows=True))
        if rng.randrange(100) < AFTER_PERCENT:
            found.append(after("unknown", rng))
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
            **{text(r["name"]): rng.choice(items(r["items"])) for r in table("unknown.table")},
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
        if section.name in OFFERING and rng.random() < 0.25:
            answer += " " + expand(rng.choice(section_of("unknown.forms", "offer").answers), rng)
        return Exchange(
            f"unknown/{section.name}/{values.get(section.name, '-')}/{wording}", question, answer
        )
