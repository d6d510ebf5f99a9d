"""Everyday things that the model has no facts on: it says that it does not know them.

They are asked about in the wordings in which known things are, so what makes the reply is the word.
"""

import re
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from random import Random
from typing import NamedTuple

from recipe.corpus.forms import (
    DATA,
    Row,
    Section,
    framed,
    items,
    section_of,
    sections,
    table,
    text,
)
from recipe.corpus.grammar import article, expand, plural, slots
from recipe.corpus.turn import Exchange, Thread
from recipe.corpus.unknown import after

# Tables whose rows the model has facts on, and the topics whose wordings are used here.
KNOWN = (
    *("animals", "plants", "foods", "recipes", "objects", "cities", "countries"),
    *("space", "colours"),
)
TOPICS = KNOWN[:-2]
# Of those that no other text has.
UNSEEN_PERCENT = 19
# Sections whose answers are of another kind than the rest: what they want is a recipe, or talk.
RECIPE, TALK = ("foods", "steps", "time", "tip", "about"), "like"


class Strange(NamedTuple):
    """A word that the model knows nothing of; `number` is "one", "many", "mass" or "name"."""

    word: str
    kind: str
    topic: str
    number: str


def is_unseen(word: str) -> bool:
    """Whether `word` must not be asked about in training; of all, about 15 % are."""
    digest = blake2b(f"strange {word}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") % 100 < UNSEEN_PERCENT and _said_once(word)


def known_names() -> set[str]:
    """What the tables of facts tell of, one and several, in lower case and without article."""
    rows = [row for name in KNOWN for row in table(f"{name}.table")]
    named = {bare(text(row["name"])) for row in rows}
    return named | {plural(name) for name in named} | {bare(text(r.get("names", ""))) for r in rows}


def told_of() -> set[str]:
    """What single facts are about, one and several, in lower case and without article."""
    told = {bare(text(row["thing"])) for row in table("thing_colours.table")}
    facts = [text(row["fact"]) for row in table("truths.table")]
    told |= {bare(re.split(" (?:is|are|has|have|can) ", fact)[0]) for fact in facts}
    return told | {plural(thing) for thing in told}


def bare(name: str) -> str:
    """`name` in lower case without its article."""
    return re.sub(r"^(a|an|the) ", "", name.lower())


@cache
def strange_words() -> tuple[Strange, ...]:
    """The words of data/strange.table, save any that another table has come to know."""
    known = known_names() | told_of()
    return tuple(
        Strange(word, text(row["kind"]), text(row["topic"]), text(row["number"]))
        for row in table("strange.table")
        for word in items(row["items"])
        if not {bare(word), plural(bare(word))} & known
    )


@cache
def _all_data() -> str:
    files = sorted(path for path in DATA.iterdir() if path.suffix in (".table", ".forms"))
    return "\n".join(path.read_text(encoding="ascii") for path in files).lower()


def _said_once(word: str) -> bool:
    """Whether no other text than the row of `word` has it."""
    both = f"{re.escape(word.lower())}|{re.escape(plural(word.lower()))}"
    return len(re.findall(rf"\b(?:{both})\b", _all_data())) == 1


@cache
def _told_with(word: str) -> set[str]:
    """`word`, and what data/differences.table sets beside it."""
    pairs = [{text(row["one"]), text(row["two"])} for row in table("differences.table")]
    return {word}.union(*(pair for pair in pairs if word in pair))


@cache
def _sections(topic: str, number: str) -> tuple[Section, ...]:
    """What can be asked of a thing: the sections of `topic`, and those of data/strange.forms."""
    given = set(_values("x", number))
    if number == "many" and topic == "objects":
        given.remove("name")
    found = [*(sections(f"{topic}.forms") if topic in TOPICS else ())]
    own = [s for s in sections("strange.forms") if s.name in (topic, "any")]
    # As many threads have the general wordings as those of the topic.
    found += own * max(1, len(found) // len(own) * 3 // 4)
    usable = []
    for section in found:
        questions = [f for f in section.questions if slots(f) <= given]
        clauses = [f for f in section.clauses if slots(f) <= given]
        if questions:
            usable.append(Section(section.name, questions, clauses=clauses))
    return tuple(usable)


def _values(word: str, number: str) -> Row:
    """What the slots of the forms stand for."""
    several = number in ("one", "many")
    names = plural(word) if number == "one" else word
    thing = f"{article(word)} {word}" if number == "one" else word
    one = number != "many"
    return {
        **{"name": word, "names": names, "them": names, "thing": thing, "other": "other"},
        "the": f"the {word}" if number == "one" else word,
        **({"is": "is", "does": "does"} if one else {"is": "are", "does": "do"}),
        "works": "works" if one else "work",
        **({"verb": "are", "do": "do"} if several else {"verb": "is", "do": "does"}),
        "come": "come" if several else "comes",
    }


class StrangeTopic:
    """Questions about the words of data/strange.table, all of which are declined."""

    name = "strange"

    def __init__(self) -> None:
        self.words = tuple(strange for strange in strange_words() if not is_unseen(strange.word))

    def thread(self, rng: Random) -> Thread:
        """One question about a strange thing, at times another about it or one like it."""
        strange = rng.choice(self.words)
        values = _values(strange.word, strange.number)
        values["other"] = self._other(strange, rng)
        section = rng.choice(_sections(strange.topic, strange.number))
        if section.clauses and rng.random() < 0.3:
            form = rng.choice(section.clauses)
            wording = f"!{section.clauses.index(form)}"
            subject = text(values["names"] if strange.number != "name" else values["name"])
            clause = expand(form, rng, values, subject, capital=False)
            question = framed(clause, rng)
        else:
            form = rng.choice(section.questions)
            wording = f"?{section.questions.index(form)}"
            question = expand(form, rng, values)
        key = f"strange/{strange.kind}/{strange.word}"
        answer = self._answer(strange.topic, section.name, question, rng)
        found = [Exchange(f"{key}/{section.name}{wording}", question, answer)]
        if rng.random() < 0.2:
            again = section_of("strange.forms", rng.choice(("again", "again", "sure")))
            form = rng.choice(again.follow_ups)
            asked = expand(form, rng, values)
            wording = f"{again.name}~{again.follow_ups.index(form)}"
            if slots(form):
                # Not of a thing that is known after all.
                like = rng.choice([s for s in self.words if s.kind == strange.kind])
                asked = expand(form, rng, {"other": _values(like.word, like.number)["thing"]})
            answer = expand(rng.choice(again.answers), rng)
            found.append(Exchange(f"{key}/{wording}", asked, answer))
        elif rng.random() < 0.12:
            found.append(after(key, rng))
        return found

    def _other(self, strange: Strange, rng: Random) -> str:
        """Another thing to set beside `strange`, which may be a known one."""
        told = _told_with(strange.word)
        if strange.topic in ("animals", "plants", "objects") and rng.random() < 0.4:
            rows = table(f"{strange.topic}.table")
            known = [name for row in rows if (name := text(row["name"])) not in told]
            name = rng.choice(known)
            return f"{article(name)} {name}"
        alike: Sequence[Strange] = [
            s for s in self.words if s.kind == strange.kind and s.word not in told
        ]
        other = rng.choice(alike)
        return text(_values(other.word, other.number)["thing"])

    @staticmethod
    def _answer(topic: str, section: str, question: str, rng: Random) -> str:
        """That it is not known, with at most one offer of something else."""
        kind = "plain"
        if section == TALK:
            kind = "like"
        elif topic == "recipes" and (section in RECIPE or re.search("make|cook|recipe", question)):
            kind = "recipe"
        elif topic in TOPICS and rng.random() < 0.3:
            kind = f"known {topic}"
        answer = expand(rng.choice(section_of("strange.forms", kind).answers), rng)
        if kind == "plain" and topic not in TOPICS and rng.random() < 0.2:
            answer += " " + expand(rng.choice(section_of("unknown.forms", "offer").answers), rng)
        return answer
