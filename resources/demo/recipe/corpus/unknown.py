"""What the model does not know: it says so politely and offers what it can do."""

from random import Random

from recipe.corpus.forms import names, sections
from recipe.corpus.grammar import expand
from recipe.corpus.turn import Exchange, Thread

NUMBERS = (*(str(n) for n in range(11, 100)), "125", "144", "250", "365", "512", "999", "1000")
OPERATIONS = ("times", "plus", "minus", "divided by", "*", "+", "-", "/")


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
        section = named["subject"] if rng.random() < 0.4 else rng.choice(others)
        subject = rng.choice(names("subjects"))
        if rng.random() < 0.4:
            subject = f"{rng.choice(names('kinds of subjects'))} {rng.choice(names('fields'))}"
        values = {
            "subject": subject,
            "animal": rng.choice(names("unknown animals")),
            "country": rng.choice(names("unknown countries")),
            "first": rng.choice(NUMBERS),
            "second": rng.choice(NUMBERS),
            "operation": rng.choice(OPERATIONS),
        }
        form = rng.choice(section.questions)
        answer = expand(rng.choice(section.answers), rng, values)
        if section.name not in ("animal", "country") and rng.random() < 0.75:
            answer += " " + expand(rng.choice(named["offer"].answers), rng)
        entity = values.get(section.name, "-")
        key = f"unknown/{section.name}/{entity}/{section.questions.index(form)}"
        return Exchange(key, expand(form, rng, values), answer)
