"""Questions that could be answered with yes or no: the fact answers them, without a verdict."""

import re
from collections.abc import Mapping
from random import Random

from recipe.corpus.entities import EntityTopic
from recipe.corpus.forms import Row, items, sections, table, text
from recipe.corpus.grammar import expand, plural, slots
from recipe.corpus.turn import Exchange, Thread

# By the verb that goes with a row of data/traits.table: questions, what is so, what is not.
TRAIT_FORMS = {
    "do": (
        (
            "Do {names} {trait}?",
            "Do {names} {trait}?",
            "Does {a name} {trait}?",
            "Is it true that {names} {trait}?",
            "Do you know whether {names} {trait}?",
            "Can you tell me if {names} {trait}?",
            "I was wondering whether {names} {trait}.",
            "{names} {trait}, right?",
        ),
        "{trait}",
        "do not {trait}",
    ),
    "can": (
        (
            "Can {names} {trait}?",
            "Can {a name} {trait}?",
            "Is it true that {names} can {trait}?",
            "Are {names} able to {trait}?",
            "Do you know whether {names} can {trait}?",
            "I wonder if {names} can {trait}.",
        ),
        "can {trait}",
        "cannot {trait}",
    ),
    "are": (
        (
            "Are {names} {trait}?",
            "Is {a name} {trait}?",
            "Is it true that {names} are {trait}?",
            "Do you know whether {names} are {trait}?",
            "I was wondering whether {names} are {trait}.",
        ),
        "are {trait}",
        "are not {trait}",
    ),
    "be": (
        (
            "Are {names} {trait}?",
            "Is it true that {names} are {trait}?",
            "Do you know whether {names} are {trait}?",
            "I was wondering whether {names} are {trait}.",
            "Can you tell me if {names} are {trait}?",
        ),
        "are {trait}",
        "are not {trait}",
    ),
}
TRAIT = "{names} SAID."
# Of what a whole kind has or lacks.
BY_KIND = "{names} are {kinds}, and {kinds} SAID."
# What may stand before such a question.
BEFORE = (
    *("Tell me, ", "Just wondering, ", "My kid asks: ", "A question: ", "Hm, ", "Hey, "),
    *("One more question: ", "My daughter wants to know: ", "So ", "Please tell me: "),
)
REWORDED = (
    "is it true that {name} {verb} {word}",
    "would you say that {name} {verb} {word}",
    "{name} {verb} {word}, right",
    "do you know whether {name} {verb} {word}",
    "do you think {name} {verb} {word}",
    "can you tell me if {name} {verb} {word}",
)
OPPOSITES = {
    **{"hot": "cold", "cold": "hot", "soft": "hard", "hard": "soft", "sweet": "sour"},
    **{"sour": "sweet", "small": "big", "big": "small", "fast": "slow", "slow": "fast"},
    **{"wet": "dry", "dry": "wet", "heavy": "light", "light": "heavy", "black": "white"},
    **{"white": "black", "dark": "bright", "bright": "dark"},
}
# What is asked after a fact: whether it is so, and why a trait is there.
SURE = (
    *("Really?", "Are you sure?", "Is that true?", "really", "Is that so?", "are you sure"),
    *("Sure?", "Seriously?", "How do you know?", "Can I trust that?"),
)
IS_SURE = "I think so, but I am a tiny model. Please check what matters."
WHY = ("Why?", "why", "And why?", "Why is that?", "How come?", "But why?", "Why not?")
AND_OTHERS = ("And {names}?", "What about {names}?", "And what about {names}?")


class CheckTopic:
    """Questions of data/checks.forms, data/traits.table and data/truths.table."""

    name = "checks"

    def __init__(self, topics: Mapping[str, EntityTopic]) -> None:
        self._rows = {name: topic.rows for name, topic in topics.items()}

    def thread(self, rng: Random) -> Thread:
        """One question, at times more of the kind."""
        makers = (self._trait, self._columns, self._truths, self._truths)
        found = rng.choice(makers)(rng)
        if rng.random() < 0.1:
            form = rng.choice(SURE)
            key = f"{found[-1].key}/sure/~{SURE.index(form)}"
            found.append(Exchange(key, form, IS_SURE))
        return found

    def _trait(self, rng: Random) -> Thread:
        """Whether a group has a trait, at times the same of another group after it."""
        row = rng.choice(table("traits.table"))
        forms, so, not_so = TRAIT_FORMS[text(row["verb"])]
        found: Thread = []
        asked_of: set[str] = set()
        while len(found) < 3 and (not found or rng.random() < 0.3):
            is_so = rng.random() < 0.5
            name, kinds = rng.choice(self._group(row, "yes" if is_so else "no"))
            if name in asked_of:
                continue
            asked_of.add(name)
            trait = text(row["trait"])
            values: Row = {"name": name, "names": plural(name), "trait": trait, "kinds": kinds}
            asked = AND_OTHERS if found else forms
            form = rng.choice(asked)
            one = {"trait": trait.replace("their", "its")} if "{a name}" in form else {}
            by_kind = kinds and rng.random() < 0.6
            said = BY_KIND if by_kind else TRAIT
            answer = expand(said.replace("SAID", so if is_so else not_so), rng, values)
            reason = row.get("why" if is_so else "why not")
            told = reason and not by_kind and rng.random() < 0.6
            because = expand(f"{text(reason)}.", rng, values, subject="they") if reason else ""
            if told:
                answer += f" {because}"
            key = f"checks/{trait}/{name}/{'>' if found else '?'}{asked.index(form)}"
            found.append(Exchange(key, expand(form, rng, {**values, **one}), answer))
            if because and not told and rng.random() < 0.3:
                form = rng.choice(WHY[:-1] if is_so else WHY)
                found.append(Exchange(f"{key}/why/~{WHY.index(form)}", form, because))
        return found

    def _group(self, row: Row, side: str) -> list[tuple[str, str]]:
        """The names on one side of a trait, each with its kind where all of that are there."""
        entities = self._rows[text(row["topic"])]
        found: list[tuple[str, str]] = []
        for item in items(row[side]):
            if item.startswith("all "):
                kind = item.removeprefix("all ")
                members = (text(e["name"]) for e in entities if plural(text(e["kind"])) == kind)
                found += [(name, kind) for name in members]
            else:
                found.append((item, ""))
        return found

    def _columns(self, rng: Random) -> Thread:
        return [self._column(rng) for _ in range(1 if rng.random() < 0.75 else 2)]

    def _column(self, rng: Random) -> Exchange:
        """Whether a value stands in the row of an entity."""
        section = rng.choice(sections("checks.forms"))
        topic, column = section.name.split(" ")
        rows = [row for row in self._rows[topic] if column in row]
        is_so = rng.random() < 0.5
        row, other = rng.sample(rows, 2)
        other = row if is_so else other
        value = rng.choice(items(other[column]))
        values: Row = {**row, "value": value, "other": other["name"]}
        form = rng.choice([f for f in section.questions if slots(f) <= values.keys()])
        # Of one where one was asked about, of all where all were.
        facts = [f for f in section.answers if ("{names}" in f) == ("{names}" in form)]
        answer = expand(f"{rng.choice(facts or section.answers)}.", rng, values)
        key = f"checks/{section.name}/{row['name']}/{value}/{section.questions.index(form)}"
        return Exchange(key, expand(form, rng, values), answer)

    def _truths(self, rng: Random) -> Thread:
        """One or two rows of data/truths.table."""
        rows = rng.sample(table("truths.table"), 1 if rng.random() < 0.7 else 2)
        return [self._truth(row, rng) for row in rows]

    @staticmethod
    def _truth(row: Row, rng: Random) -> Exchange:
        asked = rng.choice([q for side in ("yes", "no") for q in items(row.get(side, ()))])
        key = f"checks/truth/{row['fact']}/{asked}"
        question = expand(f"{_reworded(expand(asked, rng, capital=False), rng)}?", rng)
        if rng.random() < 0.2:
            question = rng.choice(BEFORE) + question[0].lower() + question[1:]
        return Exchange(key, question, expand(f"{row['fact']}.", rng))


def _reworded(asked: str, rng: Random) -> str:
    """At times `asked`, where it is whether one word is another, as it may be asked too."""
    found = re.fullmatch(r"(is|are) (\w+) (\w+)", asked)
    if found is None or rng.random() < 0.5:
        return asked
    verb, name, word = found.groups()
    forms = list(REWORDED)
    if word in OPPOSITES:
        forms += [f"{asked} or {OPPOSITES[word]}"] * 3
    return rng.choice(forms).format(name=name, verb=verb, word=word)
