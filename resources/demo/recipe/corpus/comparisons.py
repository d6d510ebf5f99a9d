"""Animals compared: which is bigger, is it a bird, can it fly."""

from random import Random

from recipe.corpus.forms import Row, items, names, table, text
from recipe.corpus.grammar import Value, expand
from recipe.corpus.turn import Exchange, Thread

# A word, its opposite, what is compared, and how many times as much there must be of it.
SIZES = (
    *(("bigger", "smaller", "kg", 2.5), ("larger", "smaller", "kg", 2.5)),
    *(("heavier", "lighter", "kg", 2.0), ("smaller", "bigger", "kg", 2.5)),
    *(("lighter", "heavier", "kg", 2.0), ("longer", "shorter", "years", 1.6)),
)
MORE = (
    "Which is {word}, {a one} or {a two}?",
    "Which one is {word}, {a one} or {a two}?",
    "What is {word}, {a one} or {a two}?",
    "Which animal is {word}, {a one} or {a two}?",
    "{a one} or {a two}: which is {word}?",
    "I was wondering which is {word}, {a one} or {a two}.",
    "Any idea whether {a one} or {a two} is {word}?",
)
IS_MORE = (
    "Is {a one} {word} than {a two}?",
    "Are {s one} {word} than {s two}?",
    "Is it true that {s one} are {word} than {s two}?",
    "Do you know whether {a one} is {word} than {a two}?",
)
LIVES = (
    "Which lives {word}, {a one} or {a two}?",
    "Which animal lives {word}, {a one} or {a two}?",
    "{a one} or {a two}: which lives {word}?",
)
IS_LIVES = ("Does {a one} live {word} than {a two}?", "Do {s one} live {word} than {s two}?")
KIND = (
    "Is {a one} {a kind}?",
    "Are {s one} {s kind}?",
    "Do {s one} belong to the {s kind}?",
    "Is it true that {s one} are {s kind}?",
    "I was wondering whether {a one} is {a kind}.",
)
DIFFERENCE = (
    "What is the difference between {a one} and {a two}?",
    "Compare {s one} and {s two}.",
    "How do {s one} differ from {s two}?",
    "Compare {a one} with {a two}.",
    "Explain to a child how {s one} differ from {s two}.",
)
CAN_FLY = (
    "Can {s one} fly?",
    "Can {a one} fly?",
    "Do {s one} fly?",
    "Are {s one} able to fly?",
    "Do you know whether {s one} can fly?",
)
KINDS = ("bird", "mammal", "reptile", "fish", "insect", "amphibian")


class ComparisonTopic:
    """Questions about one or two rows of data/animals.table."""

    name = "comparisons"

    def thread(self, rng: Random) -> Thread:
        """One question, at times two."""
        makers = (self._more, self._more, self._kind, self._kind, self._difference, self._fly)
        return [rng.choice(makers)(rng) for _ in range(1 if rng.random() < 0.75 else 2)]

    def _more(self, rng: Random) -> Exchange:
        word, other, column, factor = rng.choice(SIZES)
        rows = [row for row in table("animals.table") if column in row]
        while True:
            one, two = rng.sample(rows, 2)
            more, less = sorted((one, two), key=lambda row: _number(row, column), reverse=True)
            if _number(more, column) > factor * _number(less, column):
                break
        if word in ("smaller", "lighter"):
            more, less = less, more
        yes_no = rng.random() < 0.5
        values: dict[str, Value] = {**_pair(one, two), "word": word, "other": other}
        values |= {"more": more["name"], "less": less["name"]}
        if column == "years":
            form = rng.choice(IS_LIVES if yes_no else LIVES)
            answers = ["{s more} live [much |]{word} than {s less}.", "The {more} lives {word}."]
        else:
            form = rng.choice(IS_MORE if yes_no else MORE)
            answers = [
                "{a more} is [much |]{word} than {a less}.",
                "{s more} are [much |]{word} than {s less}.",
                "The {more} is {word}.",
            ]
        if yes_no:
            answers = [f"{'Yes' if more is one else 'No'}, {answers[0]}"]
            if more is not one and column == "kg":
                answers.append("No, {s one} are {other} than {s two}.")
        return self._exchange(rng, word, form, answers, values)

    def _kind(self, rng: Random) -> Exchange:
        row = rng.choice(table("animals.table"))
        kind = row["kind"] if rng.random() < 0.5 else rng.choice(KINDS)
        values = {"one": row["name"], "two": "", "kind": kind, "real": row["kind"]}
        if kind == row["kind"]:
            answers = [
                "Yes, {a one} is {a kind}.",
                "Yes, {s one} are {s kind}.",
                "Yes, {s one} belong to the {s kind}.",
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
        parts = [
            "{s one} live {home1}, but {s two} live {home2}.",
            "{s one} eat {foods1}, and {s two} eat {foods2}.",
            "{a one} has {look1}, but {a two} has {look2}.",
            "{s one} are {s kind1}, but {s two} are {s kind2}.",
        ]
        if one["home"] == two["home"]:
            parts[0] = "Both live {home1}."
        if set(items(one["foods"])) == set(items(two["foods"])):
            parts[1] = "Both eat {foods1}."
        if one["look"] == two["look"]:
            parts[2] = "Both have {look1}."
        if one["kind"] == two["kind"]:
            parts[3] = "{s one} and {s two} are both {s kind1}."
        # What both have in common cannot come first, before they are named.
        first = rng.choice([part for part in parts if not part.startswith("Both")])
        rest = [part for part in parts if part is not first]
        answer = " ".join([first, *rng.sample(rest, rng.choice((1, 1, 2)))])
        return self._exchange(rng, "difference", rng.choice(DIFFERENCE), [answer], values)

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


def _number(row: Row, column: str) -> float:
    return float(text(row[column]))


def _pair(one: Row, two: Row) -> dict[str, Value]:
    return {"one": one["name"], "two": two["name"]}
