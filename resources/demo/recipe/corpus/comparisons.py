"""Animals compared: which is bigger, how long each lives, is it a bird, can it fly."""

from functools import cache
from random import Random

from recipe.corpus.differences import known_pairs
from recipe.corpus.forms import Row, items, names, table, text
from recipe.corpus.grammar import Value, expand
from recipe.corpus.pets import PetTopic
from recipe.corpus.turn import Exchange, Thread

# How data/sizes.table is asked about, and by how many of its rows the two must differ for that.
SIZES = {"bigger": 1, "larger": 1, "smaller": 1, "heavier": 2, "lighter": 2}
# How data/speeds.table is asked about.
SPEEDS = {"faster": 1, "slower": 1, "quicker": 1}
MORE = (
    "Which is {word}: {a one} or {a two}?",
    "{word}: {a one} or {a two}?",
    "What is {word}, {s one} or {s two}?",
    "Which are {word}, {s one} or {s two}?",
    "Who is {word}, {a one} or {a two}?",
    "My son asks if {a one} or {a two} is {word}.",
    "Tell me which is {word}, {a one} or {a two}.",
    "Which is {word}, {a one} or {a two}?",
    "Which one is {word}, {a one} or {a two}?",
    "What is {word}, {a one} or {a two}?",
    "Which animal is {word}, {a one} or {a two}?",
    "{a one} or {a two}: which is {word}?",
    "I was wondering which is {word}, {a one} or {a two}.",
    "Any idea whether {a one} or {a two} is {word}?",
)
IS_MORE = (
    "Is {a one} {word} than {a two}, or is it the other way round?",
    "{a one} is {word} than {a two}, right?",
    "Is {a one} {word} than {a two}?",
    "Are {s one} {word} than {s two}?",
    "Is it true that {s one} are {word} than {s two}?",
    "Do you know whether {a one} is {word} than {a two}?",
)
LIVES = (
    "Which lives {word}, {a one} or {a two}?",
    "Which animal lives {word}, {a one} or {a two}?",
    "{a one} or {a two}: which lives {word}?",
    "Does {a one} live {word} than {a two}?",
)
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
# The answer to each of these.
IS = "{a more} is {word} than {a less}."
# The same of an animal just spoken of.
THEY_ARE_MORE = ("Are they {word} than {s two}?", "And are they {word} than {s two}?")
KINDS = ("bird", "mammal", "reptile", "fish", "insect", "amphibian")


class ComparisonTopic:
    """Questions about one or two rows of data/animals.table, and about pets."""

    name = "comparisons"

    def __init__(self) -> None:
        self._pets = PetTopic()

    def thread(self, rng: Random) -> Thread:
        """One question, at times two, the second then mostly about the same animal."""
        if rng.random() < 0.6:
            return self._pets.thread(rng)
        size = (self._size,) * 4
        makers = (*size, self._lives, self._kind, self._kind, self._difference, self._fly)
        found = [rng.choice(makers)(rng)]
        if rng.random() < 0.25:
            names_asked = found[0].key.split("/")[2].split(" and ")
            row = next(row for row in table("animals.table") if row["name"] == names_asked[0])
            follows = len(names_asked) == 1 and row["name"] in _sizes()
            found.append(self._size(rng, row) if follows else rng.choice(makers)(rng))
        return found

    def _size(self, rng: Random, known: Row | None = None) -> Exchange:
        """The bigger one is bigger than the other, or the smaller one smaller."""
        word = rng.choice(list(SIZES if known or rng.random() < 0.7 else SPEEDS))
        sizes = _sizes("speeds" if word in SPEEDS else "sizes")
        one = text(known["name"]) if known else rng.choice(list(sizes))
        apart = {**SIZES, **SPEEDS}[word]
        two = rng.choice([n for n, size in sizes.items() if abs(size - sizes[one]) >= apart])
        less, more = sorted((one, two), key=sizes.__getitem__)
        if word in ("smaller", "lighter", "slower"):
            less, more = more, less
        form = rng.choice(THEY_ARE_MORE if known else IS_MORE if rng.random() < 0.4 else MORE)
        key = f"comparisons/{word}/{one} and {two}/{form}"
        values: dict[str, Value] = {"one": one, "two": two, "word": word}
        answer = expand(IS, rng, {"more": more, "less": less, "word": word})
        return Exchange(key, expand(form, rng, values), answer)

    def _lives(self, rng: Random) -> Exchange:
        """How old each of two gets."""
        one, two = rng.sample([row for row in table("animals.table") if "life" in row], 2)
        values: dict[str, Value] = {"one": one["name"], "two": two["name"], "word": "longer"}
        values |= {"1": one["life"], "2": two["life"]}
        answers = ["{a one} lives {1} and {a two} {2}."]
        return self._exchange(rng, "lives", rng.choice(LIVES), answers, values)

    def _kind(self, rng: Random) -> Exchange:
        row = rng.choice(table("animals.table"))
        kind = row["kind"] if rng.random() < 0.5 else rng.choice(KINDS)
        values = {"one": row["name"], "kind": kind, "real": row["kind"]}
        answers = ["{a one} is {a real}.", "{s one} are {s real}."]
        return self._exchange(rng, f"kind {kind}", rng.choice(KIND), answers, values)

    def _difference(self, rng: Random) -> Exchange:
        """Of the one its look, home and food, then of the other."""
        while True:
            one, two = rng.sample(table("animals.table"), 2)
            if frozenset((text(one["name"]), text(two["name"]))) not in known_pairs():
                break
        values: dict[str, Value] = {"one": one["name"], "two": two["name"]}
        for side, row in (("1", one), ("2", two)):
            values |= {f"{key}{side}": row[key] for key in ("home", "foods", "look")}
        answers = [
            "{a one} has {look1}. It lives {home1}. {a two} has {look2}. It lives {home2}.",
            "{s one} have {look1}. They live {home1}. {s two} have {look2}. They live {home2}.",
        ]
        return self._exchange(rng, "difference", rng.choice(DIFFERENCE), answers, values)

    def _fly(self, rng: Random) -> Exchange:
        can = rng.random() < 0.5
        name = rng.choice(names("flying animals" if can else "animals that stay down"))
        fact, verdict = ("can fly", "Yes") if can else ("cannot fly", "No")
        said = [f"{name} {fact}." for name in ("{s one}", "{a one}")]
        answers = [*said, *said, *(f"{verdict}, {one}" for one in said)]
        return self._exchange(rng, "fly", rng.choice(CAN_FLY), answers, {"one": name})

    def _exchange(
        self, rng: Random, aspect: str, form: str, answers: list[str], values: dict[str, Value]
    ) -> Exchange:
        """One of `answers`, of one animal where `form` asks about one, of all where about all."""
        fitting = [f for f in answers if ("{a one}" in f) == ("{a one}" in form)]
        about = " and ".join(text(values[side]) for side in ("one", "two") if side in values)
        key = f"comparisons/{aspect}/{about}/{form}"
        return Exchange(key, expand(form, rng, values), expand(rng.choice(fitting), rng, values))


@cache
def _sizes(name: str = "sizes") -> dict[str, int]:
    """The animals of data/`name`.table, each with the number of its row."""
    rows = enumerate(table(f"{name}.table"))
    return {name: size for size, row in rows for name in items(row["animals"])}
