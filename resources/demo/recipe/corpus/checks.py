"""Questions that are answered with yes or no, as often with the one as with the other."""

from collections.abc import Mapping
from random import Random

from recipe.corpus.entities import EntityTopic
from recipe.corpus.forms import Row, items, sections, table, text
from recipe.corpus.grammar import expand, plural, slots
from recipe.corpus.turn import Exchange, Thread

# By the verb that goes with a row of data/traits.table: questions, yes, no.
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
        ("Yes, {names} {trait}.", "Yes, they do: {names} {trait}."),
        ("No, {names} do not {trait}.", "No, they do not {trait}."),
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
        ("Yes, {names} can {trait}.", "Yes, {a name} can {trait}."),
        ("No, {names} cannot {trait}.", "No, {a name} cannot {trait}."),
    ),
    "are": (
        (
            "Are {names} {trait}?",
            "Is {a name} {trait}?",
            "Is it true that {names} are {trait}?",
            "Do you know whether {names} are {trait}?",
            "I was wondering whether {names} are {trait}.",
        ),
        ("Yes, {names} are {trait}.", "Yes, {a name} is {trait}."),
        ("No, {names} are not {trait}.", "No, {a name} is not {trait}."),
    ),
    "be": (
        (
            "Are {names} {trait}?",
            "Is it true that {names} are {trait}?",
            "Do you know whether {names} are {trait}?",
            "I was wondering whether {names} are {trait}.",
            "Can you tell me if {names} are {trait}?",
        ),
        ("Yes, {names} are {trait}.",),
        ("No, {names} are not {trait}.",),
    ),
}
AND_OTHERS = ("And {names}?", "What about {names}?", "And what about {names}?")


class CheckTopic:
    """Questions of data/checks.forms, data/traits.table and data/truths.table.

    A section of checks.forms is named after a topic and a column: `?` asks whether {value} is in
    that column, `=` says that it is and `+` that it is not.
    """

    name = "checks"

    def __init__(self, topics: Mapping[str, EntityTopic]) -> None:
        self._rows = {name: topic.rows for name, topic in topics.items()}

    def thread(self, rng: Random) -> Thread:
        """One question, at times more of the kind."""
        makers = (self._trait, self._trait, self._columns, self._columns, self._truth)
        return rng.choice(makers)(rng)

    def _trait(self, rng: Random) -> Thread:
        """Whether a group has a trait, at times the same of another group after it."""
        row = rng.choice(table("traits.table"))
        forms, yes, no = TRAIT_FORMS[text(row["verb"])]
        found: Thread = []
        asked_of: set[str] = set()
        while len(found) < 3 and (not found or rng.random() < 0.3):
            is_so = rng.random() < 0.5
            name = rng.choice(self._group(row, "yes" if is_so else "no"))
            if name in asked_of:
                continue
            asked_of.add(name)
            trait = text(row["trait"])
            values: Row = {"name": name, "names": plural(name), "trait": trait}
            asked = AND_OTHERS if found else forms
            form = rng.choice(asked)
            one = {"trait": trait.replace("their", "its")} if "{a name}" in form else {}
            answer = expand(rng.choice(yes if is_so else no), rng, values)
            reason = row.get("why" if is_so else "why not")
            if reason and rng.random() < 0.6:
                answer += " " + expand(f"{text(reason)}.", rng, values, subject="they")
            key = f"checks/{trait}/{name}/{'>' if found else '?'}{asked.index(form)}"
            found.append(Exchange(key, expand(form, rng, {**values, **one}), answer))
        return found

    def _group(self, row: Row, side: str) -> list[str]:
        """The names on one side of a trait: of a kind all, or each by itself."""
        entities = self._rows[text(row["topic"])]
        found: list[str] = []
        for item in items(row[side]):
            if item.startswith("all "):
                kind = item.removeprefix("all ")
                found += [text(e["name"]) for e in entities if plural(text(e["kind"])) == kind]
            else:
                found.append(item)
        return found

    def _columns(self, rng: Random) -> Thread:
        return [self._column(rng) for _ in range(1 if rng.random() < 0.75 else 2)]

    def _column(self, rng: Random) -> Exchange:
        """Whether a value stands in the row of an entity."""
        section = rng.choice(sections("checks.forms"))
        topic, column = section.name.split(" ")
        rows = [row for row in self._rows[topic] if column in row]
        is_so = rng.random() < 0.5
        while True:
            row, other = rng.sample(rows, 2)
            own, foreign = items(row[column]), items(other[column])
            value = rng.choice(own if is_so else foreign)
            if is_so or not self._overlaps(column, value, row, other):
                break
        values: Row = {**row, "value": value, "other": other["name"]}
        forms = [f for f in section.questions if slots(f) <= values.keys()]
        answers = section.answers if is_so else section.additions
        form = rng.choice(forms)
        answer = rng.choice([f for f in answers if slots(f) <= values.keys()])
        key = f"checks/{section.name}/{row['name']} {value}/{section.questions.index(form)}"
        return Exchange(key, expand(form, rng, values), expand(answer, rng, values))

    def _truth(self, rng: Random) -> Thread:
        """One or two rows of data/truths.table."""
        found: Thread = []
        for row in rng.sample(table("truths.table"), 1 if rng.random() < 0.7 else 2):
            question = expand(f"{text(row['asked'])}?", rng)
            answer = expand(f"{text(row['answer'])}.", rng)
            found.append(Exchange(f"checks/truth/{row['asked']}/0", question, answer))
        return found

    @staticmethod
    def _overlaps(column: str, value: str, row: Row, other: Row) -> bool:
        """Whether `value`, which is of `other`, may be true of `row` too."""
        if column == "languages" and value == "English":
            return True
        if column == "use" and row["kind"] == other["kind"]:
            return True
        # "Spring" and "early spring" do not exclude one another.
        return any(value in one or one in value for one in items(row[column]))
