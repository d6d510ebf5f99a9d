"""What the user tells of themselves, and asks for later in the chat."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from recipe.corpus.forms import Section, items, names, sections, table
from recipe.corpus.grammar import expand
from recipe.corpus.turn import Exchange, Thread

# Who may have a name that the user tells, and the lists in data/names.table of such names.
WOMEN = ("sister", "sister", "mother", "daughter", "wife", "mum", "girlfriend", "aunt")
MEN = ("brother", "brother", "father", "son", "husband", "dad", "boyfriend", "uncle")
ANYONE = ("friend", "best friend", "teacher", "boss", "cousin", "neighbour")
PETS = ("dog", "dog", "dog", "cat", "cat", "cat", "rabbit", "hamster", "horse")
# How often a section is asked for that was not told, where that is more than once.
UNTOLD = {"kin": 6, "pet names": 4, "people": 2, "ages": 2, "untold": 5}


class Told(NamedTuple):
    """What is told or asked for: `value`, which belongs to `kin` where that is not empty."""

    section: Section
    kin: str
    value: str

    @property
    def key(self) -> str:
        """What names this in the key of an exchange."""
        return f"memory/{self.group}/{self.value or '-'}"

    @property
    def group(self) -> str:
        """What can be told once only."""
        return f"{self.section.name} {self.kin}".strip()

    def expanded(self, form: str, rng: Random) -> str:
        """`form` with what is told."""
        return expand(form, rng, {"value": self.value, "kin": self.kin})


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
        if rng.random() < 0.3:
            return [_asked(_untold([], rng), rng)]
        made = [_made(s, rng) for s in _tellable(rng.choice((1, 1, 1, 2, 2, 3)), rng)]
        chosen = list({told.group: told for told in made}.values())
        thread = _telling(chosen, rng)
        while len(thread) < 5 and rng.random() < 0.35:
            thread += self._filler(rng)[:1]
        thread += [_asked(told, rng) for told in rng.sample(chosen, len(chosen))]
        if rng.random() < 0.25:
            thread.append(_asked(_untold(chosen, rng), rng))
        return thread


def _tellable(count: int, rng: Random) -> list[Section]:
    """Sections of what can be told: who the user is often comes first."""
    every = [section for section in sections("memory.forms") if section.questions]
    found = rng.sample(every, count)
    # Two pets of one user would be taken for each other.
    if {"pet names", "pets owned"} <= {section.name for section in found}:
        found = [section for section in found if section.name != "pets owned"]
    # Two people whom the user knows have two names.
    found += [s for s in found if s.name in ("kin", "pet names") and rng.random() < 0.3]
    return sorted(found, key=lambda section: section.name != "people")


def _untold(told: list[Told], rng: Random) -> Told:
    """Something that is not in `told`."""
    every = sections("memory.forms")
    while True:
        section = rng.choices(every, [UNTOLD.get(s.name, 1) for s in every])[0]
        made = _made(section, rng)._replace(value="")
        if made.group not in {one.group for one in told} and not _same_pet(made, told):
            return made


def _same_pet(made: Told, told: list[Told]) -> bool:
    """Whether `made` may be answered by a pet in `told`, which may be called "pet" or "dog"."""
    pets = ("pet names", "pets owned")
    return made.section.name in pets and any(one.section.name in pets for one in told)


def _made(section: Section, rng: Random) -> Told:
    """Something to tell of `section`."""
    if section.name == "kin":
        group = rng.choice((WOMEN, MEN, ANYONE))
        called = {WOMEN: names("women"), MEN: names("men"), ANYONE: _people()}[group]
        return Told(section, rng.choice(group), rng.choice(called))
    kin = rng.choice(PETS) if section.name == "pet names" else ""
    return Told(section, kin, rng.choice(_values(section)))


def _telling(chosen: list[Told], rng: Random) -> Thread:
    """What tells `chosen`: at times who the user is and the next thing in one message."""
    thread = [_told(told, rng) for told in chosen]
    if len(chosen) > 1 and chosen[0].section.name == "people" and rng.random() < 0.6:
        first = rng.choice([f for f in chosen[0].section.questions if f.endswith("{value}.")])
        plain = [f for f in chosen[1].section.questions if f.startswith(("I ", "My "))]
        second = rng.choice(plain)
        question = chosen[0].expanded(first, rng).rstrip(".")
        more = chosen[1].expanded(second, rng)
        question += rng.choice((" and ", " and ", ", ", ". "))
        question += more if more[:2] == "I " or question[-2] == "." else more[0].lower() + more[1:]
        keys = [
            f"{told.key}/?{told.section.questions.index(form)}"
            for told, form in zip(chosen, (first, second), strict=False)
        ]
        answer = f"Nice to meet you, {chosen[0].value}! Thank you for telling me about yourself."
        thread[:2] = [Exchange(" & ".join(keys), question, answer)]
    return thread


def _told(told: Told, rng: Random) -> Exchange:
    form = rng.choice(told.section.questions)
    key = f"{told.key}/?{told.section.questions.index(form)}"
    answer = told.expanded(rng.choice(told.section.answers), rng)
    return Exchange(key, told.expanded(form, rng), answer)


def _asked(told: Told, rng: Random) -> Exchange:
    form = rng.choice(told.section.follow_ups)
    forms = told.section.additions if told.value else told.section.clauses
    key = f"{told.key}/~{told.section.follow_ups.index(form)}"
    return Exchange(key, told.expanded(form, rng), told.expanded(rng.choice(forms), rng))


def _people() -> tuple[str, ...]:
    return names("women") + names("men")


def _values(section: Section) -> tuple[str, ...]:
    """The members of the list that a section is called after."""
    if section.name == "people":
        return _people()
    if section.name == "ages":
        return tuple(str(age) for age in range(7, 90))
    if section.name == "countries":
        return _list("countries") + _list("home towns")
    if section.name == "untold":
        return ("-",)
    if section.name == "pets owned":
        return (*_list("pets owned"), "dog and a cat", "cat and a dog", "cat and a rabbit")
    return _list(section.name)


def _list(name: str) -> tuple[str, ...]:
    known = [*table("names.table"), *table("lists.table")]
    return next(items(row["items"]) for row in known if row["name"] == name)
