"""What the user tells of themselves, and asks for later in the chat."""

from collections.abc import Callable
from random import Random

from recipe.corpus.forms import Section, items, names, sections, table
from recipe.corpus.grammar import expand
from recipe.corpus.turn import Exchange, Thread


class MemoryTopic:
    """What is told in the forms of data/memory.forms, whose sections are called after a list.

    There `?` tells {value}, `=` replies, `~` asks for it, `+` answers that, and `!` answers it when
    nothing was told. `filler` makes what is spoken of in between.
    """

    name = "memory"

    def __init__(self, filler: Callable[[Random], Thread]) -> None:
        self._filler = filler

    def thread(self, rng: Random) -> Thread:
        """Mostly told and then asked, at times asked too early."""
        every = sections("memory.forms")
        told = rng.sample(every, rng.choice((1, 1, 1, 2, 2, 3)))
        values = {section.name: rng.choice(_values(section)) for section in told}
        thread: Thread = []
        if rng.random() < 0.25:
            section = rng.choice([*every, *told])
            thread.append(self._asked(section, None, rng))
            if section not in told or rng.random() < 0.4:
                return thread
        thread += [self._told(section, values[section.name], rng) for section in told]
        while len(thread) < 5 and rng.random() < 0.4:
            thread += self._filler(rng)[:1]
        thread += [self._asked(s, values[s.name], rng) for s in rng.sample(told, len(told))]
        if rng.random() < 0.15:
            others = [section for section in every if section not in told]
            thread.append(self._asked(rng.choice(others), None, rng))
        return thread

    @staticmethod
    def _told(section: Section, value: str, rng: Random) -> Exchange:
        form = rng.choice(section.questions)
        key = f"memory/{section.name}/{value}/?{section.questions.index(form)}"
        answer = expand(rng.choice(section.answers), rng, {"value": value})
        return Exchange(key, expand(form, rng, {"value": value}), answer)

    @staticmethod
    def _asked(section: Section, value: str | None, rng: Random) -> Exchange:
        form = rng.choice(section.follow_ups)
        forms = section.clauses if value is None else section.additions
        answer = expand(rng.choice(forms), rng, {"value": value or ""})
        key = f"memory/{section.name}/{value or '-'}/~{section.follow_ups.index(form)}"
        return Exchange(key, expand(form, rng), answer)


def _values(section: Section) -> tuple[str, ...]:
    """The members of the list that a section is called after."""
    if section.name == "people":
        return names("women") + names("men")
    known = [*table("names.table"), *table("lists.table")]
    return next(items(row["items"]) for row in known if row["name"] == section.name)
