"""Animals compared: what each weighs and so which is bigger, is it a bird, can it fly."""

from functools import cache
from itertools import permutations
from random import Random

from recipe.corpus.checks import AGREED, DENIED
from recipe.corpus.forms import Row, names, table, text
from recipe.corpus.grammar import Value, expand
from recipe.corpus.turn import Exchange, Thread

# A word, what is compared, and how many times as much there must be of it.
SIZES = (
    *(("bigger", "kg", 2.5), ("larger", "kg", 2.5), ("heavier", "kg", 2.0)),
    *(("smaller", "kg", 2.5), ("lighter", "kg", 2.0), ("longer", "years", 1.6)),
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
# The same of an animal just spoken of.
THEY_ARE_MORE = ("Are they {word} than {s two}?", "And are they {word} than {s two}?")
THEY_LIVE = ("Do they live {word} than {s two}?", "And do they live {word} than {s two}?")
# Where data/animals.table tells no weight in words.
WEIGHTS = {
    **{"dog": "about twenty kilograms", "penguin": "about twenty kilograms", "whale": "many tons"},
    **{"bear": "more than two hundred kilograms", "crocodile": "about four hundred kilograms"},
    **{"pig": "about a hundred and fifty kilograms", "seal": "about a hundred kilograms"},
    **{"dolphin": "about a hundred and fifty kilograms", "owl": "about one kilogram"},
}
KINDS = ("bird", "mammal", "reptile", "fish", "insect", "amphibian")


class ComparisonTopic:
    """Questions about one or two rows of data/animals.table."""

    name = "comparisons"

    def thread(self, rng: Random) -> Thread:
        """One question, at times two, the second then mostly about the same animal."""
        makers = (self._more, self._more, self._kind, self._kind, self._difference, self._fly)
        found = [rng.choice(makers)(rng)]
        if rng.random() < 0.25:
            names_asked = found[0].key.split("/")[2].split(" and ")
            row = next(row for row in table("animals.table") if row["name"] == names_asked[0])
            follows = len(names_asked) == 1 and _told(row, "kg") and _told(row, "years")
            found.append(self._more(rng, row) if follows else rng.choice(makers)(rng))
        return found

    def _more(self, rng: Random, known: Row | None = None) -> Exchange:
        """First what each weighs or how old it gets, then which is more, or that none is."""
        word, column, factor = rng.choice(SIZES)
        alike = [pair for pair in _alike(column) if known is None or pair[0] is known]
        same = bool(alike) and rng.random() < 0.08
        pairs = _unlike(column, factor)
        one, two = rng.choice(
            alike if same else [pair for pair in pairs if known is None or pair[0] is known]
        )
        less, more = sorted((one, two), key=lambda row: _number(row, column))
        if word in ("smaller", "lighter"):
            more = less
        values: dict[str, Value] = {"one": one["name"], "two": two["name"], "word": word}
        values |= {"more": more["name"], "1": _told(one, column), "2": _told(two, column)}
        yes_no = known is not None or rng.random() < 0.5
        if column == "years":
            form = rng.choice((THEY_LIVE if known else IS_LIVES) if yes_no else LIVES)
            told = ["{a one} lives {1} and {a two} {2}", "{s one} live {1} and {s two} {2}"]
            so = ["the {more} lives {word}", "{s more} live {word}"]
        else:
            form = rng.choice((THEY_ARE_MORE if known else IS_MORE) if yes_no else MORE)
            told = ["{a one} weighs {1} and {a two} {2}", "{s one} weigh {1} and {s two} {2}"]
            so = ["the {more} is {word}", "{s more} are {word}"]
        if same:
            verb = "live" if column == "years" else "weigh"
            told = [f"{{{both} one}} and {{{both} two}} both {verb} {{1}}" for both in "as"]
            so = ["neither lives {word}" if column == "years" else "neither is {word}"] * 2
        answers = [f"{first}, so {then}." for first, then in zip(told, so, strict=True)]
        return self._exchange(rng, word, form, answers, values)

    def _kind(self, rng: Random) -> Exchange:
        row = rng.choice(table("animals.table"))
        kind = row["kind"] if rng.random() < 0.5 else rng.choice(KINDS)
        values = {"one": row["name"], "kind": kind, "real": row["kind"]}
        answers = []
        for fact, asked in (("{a one} is {a real}", "a kind"), ("{s one} are {s real}", "s kind")):
            ends = AGREED if kind == row["kind"] else DENIED
            answers += [fact + end.replace("value", asked) for end in ends]
        return self._exchange(rng, f"kind {kind}", rng.choice(KIND), answers, values)

    def _difference(self, rng: Random) -> Exchange:
        """Of the one its look, home and food, then of the other."""
        one, two = rng.sample(table("animals.table"), 2)
        values: dict[str, Value] = {"one": one["name"], "two": two["name"]}
        for side, row in (("1", one), ("2", two)):
            values |= {f"{key}{side}": row[key] for key in ("home", "foods", "look")}
        answers = [
            "{a one} has {look1}. It lives {home1}. {a two} has {look2}. It lives {home2}.",
            "{s one} have {look1}. They live {home1}. {s two} have {look2}. They live {home2}.",
            "{a one} has {look1}. It lives {home1} and eats {foods1}. "
            "{a two} has {look2}. It lives {home2} and eats {foods2}.",
            "{s one} have {look1}. They live {home1} and eat {foods1}. "
            "{s two} have {look2}. They live {home2} and eat {foods2}.",
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
def _alike(column: str) -> tuple[tuple[Row, Row], ...]:
    """Pairs of animals of which the same is told, in each order."""
    return tuple(
        (one, two)
        for one, two in permutations(_rows(column), 2)
        if _told(one, column) == _told(two, column) and _ratio(one, two, column) < 1.3
    )


@cache
def _unlike(column: str, factor: float) -> tuple[tuple[Row, Row], ...]:
    """Pairs of animals of which one has more than `factor` times as much, in each order."""
    return tuple(
        (one, two)
        for one, two in permutations(_rows(column), 2)
        if _told(one, column) != _told(two, column) and _ratio(one, two, column) > factor
    )


def _rows(column: str) -> list[Row]:
    return [row for row in table("animals.table") if _told(row, column)]


def _ratio(one: Row, two: Row, column: str) -> float:
    less, more = sorted((_number(one, column), _number(two, column)))
    return more / less


def _number(row: Row, column: str) -> float:
    return float(text(row[column]))


def _told(row: Row, column: str) -> str:
    """What is told of the number in `column`, in words; empty where nothing is."""
    if column not in row:
        return ""
    if column == "years":
        return text(row["life"])
    return text(row.get("weight", WEIGHTS.get(text(row["name"]), "")))
