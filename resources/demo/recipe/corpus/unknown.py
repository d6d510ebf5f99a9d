"""What the model does not know: it says so politely and offers what it can do."""

from random import Random

from recipe.corpus.forms import framed, names, sections
from recipe.corpus.grammar import expand
from recipe.corpus.turn import Exchange, Thread

NUMBERS = (*(str(n) for n in range(11, 100)), "125", "144", "250", "365", "512", "999", "1000")
OPERATIONS = ("times", "plus", "minus", "divided by", "*", "+", "-", "/")
# Sections about one of a list that is called "unknown" and this.
UNKNOWN = {
    **{"animal": "animals", "country": "countries", "city": "cities"},
    **{"plant": "plants", "food": "foods"},
}


class UnknownTopic:
    """Questions beyond the model, as data/unknown.forms and data/names.table have them."""

    name = "unknown"

    def thread(self, rng: Random) -> Thread:
        """One question that is declined, at times two."""
        found = [self._exchange(rng)]
        if rng.random() < 0.15:
            found.append(self._exchange(rng))
        return found

    def _exchange(self, rng: Random) -> Exchange:
        named = {s.name: s for s in sections("unknown.forms")}
        others = [s for s in named.values() if s.name not in ("subject", "offer")]
        section = named["subject"] if rng.random() < 0.35 else rng.choice(others)
        subject = rng.choice(names("subjects"))
        if rng.random() < 0.4:
            subject = f"{rng.choice(names('kinds of subjects'))} {rng.choice(names('fields'))}"
        values = {
            "subject": subject,
            "first": rng.choice(NUMBERS),
            "second": rng.choice(NUMBERS),
            "operation": rng.choice(OPERATIONS),
            **{name: rng.choice(names(f"unknown {group}")) for name, group in UNKNOWN.items()},
        }
        if section.clauses and rng.random() < 0.3:
            form = rng.choice(section.clauses)
            wording = f"!{section.clauses.index(form)}"
            question = framed(expand(form, rng, values, capital=False), rng)
        else:
            form = rng.choice(section.questions)
            wording = str(section.questions.index(form))
            question = expand(form, rng, values)
        answer = expand(rng.choice(section.answers), rng, values)
        if section.name not in UNKNOWN and rng.random() < 0.75:
            answer += " " + expand(rng.choice(named["offer"].answers), rng)
        return Exchange(
            f"unknown/{section.name}/{values.get(section.name, '-')}/{wording}", question, answer
        )
