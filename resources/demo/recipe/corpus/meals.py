"""What to cook: of what is there, for dinner, without meat; and how long to boil it."""

from random import Random

from recipe.corpus.forms import Row, items, section_of, sections, table
from recipe.corpus.grammar import expand, join
from recipe.corpus.scripts import ScriptTopic
from recipe.corpus.turn import Exchange, Thread

# What may be there besides, without a change of the dish.
BESIDES = (
    *("salt", "oil", "some herbs", "garlic", "lemon juice", "ham", "corn", "yoghurt", "nuts"),
    *("ginger", "tuna", "broccoli", "leeks", "bacon", "honey", "sugar", "olives", "tofu", "cream"),
)


class MealTopic:
    """Questions of data/meals.forms; the dishes are those of data/meals.table.

    Of what is there the first row of the table counts of which all is there.
    """

    name = "meals"

    def __init__(self) -> None:
        self._script = ScriptTopic("meals", 0.0)
        self._plain = [s for s in sections("meals.forms") if s.questions and s.name != "have"]
        self._all = list(dict.fromkeys(i for row in table("meals.table") for i in _have(row)))

    def thread(self, rng: Random) -> Thread:
        """One question, at times two."""
        if rng.random() < 0.6:
            return [self._of(rng) for _ in range(1 if rng.random() < 0.8 else 2)]
        section = rng.choice(self._plain)
        found = [self._script.exchange(section, rng, follows=False)]
        if section.name == "dinner" and rng.random() < 0.3:
            another = self._script.named("another dinner")
            found.append(self._script.exchange(another, rng, follows=True))
        return found

    def _of(self, rng: Random) -> Exchange:
        """What can be made of one to three things."""
        given = list(_have(rng.choice(table("meals.table"))))
        while len(given) < rng.choice((1, 2, 2, 2, 3, 3, 4)):
            more = rng.choice([thing for thing in self._all if thing not in given])
            given.append(more)
        rng.shuffle(given)
        if rng.random() < 0.2:
            given.insert(rng.randint(0, len(given)), rng.choice(BESIDES))
        section = section_of("meals.forms", "have")
        form = rng.choice(section.questions)
        if "there are" in form and given[0] in (*MASS, *BESIDES):
            form = "I have {have} at home. What can I cook?"
        values = {"have": join(given), "told": dish_of(given)["told"]}
        key = f"meals/{values['have']}/{form}"
        return Exchange(key, expand(form, rng, values), expand(section.answers[0], rng, values))


# Of these there "is" some.
MASS = ("rice", "pasta", "bread", "chicken", "cheese", "milk", "flour", "fish", "beef", "butter")


def dish_of(given: list[str]) -> Row:
    """The first row of data/meals.table all of whose things are `given`."""
    return next(row for row in table("meals.table") if set(_have(row)) <= set(given))


def _have(row: Row) -> tuple[str, ...]:
    return items(row["have"])
