"""Animals compared: which is bigger, is it a bird, can it fly."""

from random import Random

from recipe.corpus.forms import Row, names, table
from recipe.corpus.grammar import Value, expand
from recipe.corpus.turn import Exchange, Thread

BIGGER = (
    "Which is bigger, {a one} or {a two}?",
    "What is bigger, {a one} or {a two}?",
    "Is {a one} bigger than {a two}?",
    "Who is bigger, {a one} or {a two}?",
    "Are {s one} bigger than {s two}?",
    "Which one is heavier, {a one} or {a two}?",
)
KIND = (
    "Is {a one} {a kind}?",
    "Are {s one} {s kind}?",
    "Do {s one} belong to the {s kind}?",
)
DIFFERENCE = (
    "What is the difference between {a one} and {a two}?",
    "Compare {s one} and {s two}.",
    "How do {s one} differ from {s two}?",
    "Compare {a one} with {a two}.",
)
CAN_FLY = ("Can {s one} fly?", "Can {a one} fly?", "Do {s one} fly?")
KINDS = ("bird", "mammal", "reptile", "fish", "insect", "amphibian")


class ComparisonTopic:
    """Questions about one or two rows of data/animals.table."""

    name = "comparisons"

    def thread(self, rng: Random) -> Thread:
        """One question, at times two."""
        makers = (self._bigger, self._kind, self._kind, self._difference, self._fly)
        return [rng.choice(makers)(rng) for _ in range(1 if rng.random() < 0.75 else 2)]

    def _bigger(self, rng: Random) -> Exchange:
        while True:
            one, two = rng.sample(table("animals.table"), 2)
            if not 0.4 < _weight(one) / _weight(two) < 2.5:
                break
        form = rng.choice(BIGGER)
        big, small = (one, two) if _weight(one) > _weight(two) else (two, one)
        values = {**_pair(one, two), "big": big["name"], "small": small["name"]}
        answers = [
            "{a big} is [much |]bigger than {a small}.",
            "{s big} are [much |]bigger than {s small}.",
        ]
        if form.startswith(("Is", "Are")):
            opening = "Yes" if big is one else "No"
            answers = [f"{opening}, {answer}" for answer in answers]
        else:
            answers.append("The {big} is bigger.")
        return self._exchange(rng, "bigger", form, answers, values)

    def _kind(self, rng: Random) -> Exchange:
        row = rng.choice(table("animals.table"))
        kind = row["kind"] if rng.random() < 0.5 else rng.choice(KINDS)
        values = {"one": row["name"], "two": "", "kind": kind, "real": row["kind"]}
        if kind == row["kind"]:
            answers = [
                "Yes, {a one} is {a kind}.",
                "Yes, {s one} are {s kind}.",
                "Yes, that is right.",
            ]
        else:
            answers = [
                "No, {a one} is not {a kind}. It is {a real}.",
                "No, {s one} are not {s kind}. They are {s real}.",
                "No, {s one} are {s real}.",
            ]
        return self._exchange(rng, f"kind {kind}", rng.choice(KIND), answers, values)

    def _difference(self, rng: Random) -> Exchange:
        one, two = rng.sample(table("animals.table"), 2)
        values: dict[str, Value] = _pair(one, two)
        for side, row in (("1", one), ("2", two)):
            values |= {f"{key}{side}": row[key] for key in ("kind", "home", "foods", "look")}
        answers = [
            "{s one} live {home1}, but {s two} live {home2}. "
            "{s one} eat {foods1}, and {s two} eat {foods2}.",
            "{s one} are {s kind1} with {look1}, and {s two} are {s kind2} with {look2}.",
            "{a one} has {look1}, but {a two} has {look2}. "
            "{s one} eat {foods1}, and {s two} eat {foods2}.",
            "{s one} eat {foods1}, but {s two} eat {foods2}.",
        ]
        return self._exchange(rng, "difference", rng.choice(DIFFERENCE), answers, values)

    def _fly(self, rng: Random) -> Exchange:
        can = rng.random() < 0.5
        name = rng.choice(names("flying animals" if can else "animals that stay down"))
        answers = (
            ["Yes, {s one} can fly.", "Yes, {a one} can fly."]
            if can
            else ["No, {s one} cannot fly.", "No, {a one} cannot fly."]
        )
        return self._exchange(rng, "fly", rng.choice(CAN_FLY), answers, {"one": name, "two": ""})

    def _exchange(
        self, rng: Random, aspect: str, form: str, answers: list[str], values: dict[str, Value]
    ) -> Exchange:
        key = f"comparisons/{aspect}/{values['one']} {values['two']}/{form}"
        return Exchange(key, expand(form, rng, values), expand(rng.choice(answers), rng, values))


def _weight(row: Row) -> float:
    weight = row["kg"]
    assert isinstance(weight, str)
    return float(weight)


def _pair(one: Row, two: Row) -> dict[str, Value]:
    return {"one": one["name"], "two": two["name"]}
