"""What to cook and how: of what is there, for dinner, without meat; and how long to boil it."""

from random import Random

from recipe.corpus.forms import Row, items, section_of, sections, table
from recipe.corpus.grammar import expand, join
from recipe.corpus.kitchen import KitchenTopic
from recipe.corpus.scripts import ScriptTopic
from recipe.corpus.turn import Exchange, Thread

# What may be there besides, without a change of the dish.
BESIDES = (
    *("salt", "oil", "some herbs", "garlic", "lemon juice", "ham", "corn", "yoghurt", "nuts"),
    *("ginger", "tuna", "broccoli", "leeks", "bacon", "honey", "sugar", "olives", "tofu", "cream"),
)
# What is suggested in these sections, as data/recipes.table calls it.
SUGGESTED = {
    **{"dinner": "pasta with tomato sauce", "breakfast": "porridge", "lunch": "a cheese sandwich"},
    **{"vegetarian": "vegetable soup", "dessert": "a fruit salad", "bake": "apple pie"},
    **{"another dinner": "vegetable soup", "cold": "pumpkin soup", "any recipe": "pancakes"},
    **{"quick meal": "an omelette", "which soup": "tomato soup", "drink": "lemonade"},
    **{"birthday cake": "a chocolate cake"},
}
# The share of chats about how to make what many people make, and of how to make what is suggested.
KITCHEN, HOW = 0.55, 0.3


class MealTopic:
    """Questions of data/meals.forms; the dishes are those of data/meals.table.

    Of what is there the first row of the table counts of which all is there.
    """

    name = "meals"

    def __init__(self) -> None:
        self._script = ScriptTopic("meals", 0.0)
        self._kitchen = KitchenTopic()
        self._plain = [s for s in sections("meals.forms") if s.questions and s.name != "have"]
        self._all = list(dict.fromkeys(i for row in table("meals.table") for i in _have(row)))

    def thread(self, rng: Random) -> Thread:
        """How to make a dish, or one question, at times more."""
        roll = rng.random()
        if roll < KITCHEN:
            return self._kitchen.thread(rng)
        if roll < KITCHEN + 0.2:
            found = [self._of(rng) for _ in range(1 if rng.random() < 0.8 else 2)]
            return self._cooked(dish_named(found[-1].answer), found, rng)
        meant = [s for s in self._plain if s.name in SUGGESTED]
        section = rng.choice(self._plain if rng.random() < 0.5 else meant)
        found = [self._script.exchange(section, rng, follows=False)]
        name = section.name
        if name == "dinner" and rng.random() < 0.3:
            another = self._script.named("another dinner")
            name = another.name
            found.append(self._script.exchange(another, rng, follows=True))
        return self._cooked(SUGGESTED.get(name, ""), found, rng)

    def _cooked(self, dish: str, found: Thread, rng: Random) -> Thread:
        """`found`, at times with how to make `dish`, which was suggested last."""
        return self._kitchen.after(dish, found, rng) if rng.random() < HOW else found

    def _of(self, rng: Random) -> Exchange:
        """What can be made of one to three things."""
        rows = table("meals.table")
        given = list(_have(rng.choices(rows, [_often(row) for row in rows])[0]))
        while len(given) < rng.choice((1, 2, 2, 2, 3)):
            more = rng.choice([thing for thing in self._all if thing not in given])
            given.append(more)
        rng.shuffle(given)
        if rng.random() < 0.2:
            given.insert(rng.randint(0, len(given)), rng.choice(BESIDES))
        told = dish_of(given)["told"]
        section = section_of("meals.forms", "have")
        form = rng.choice(section.questions)
        if "there are" in form and given[0] in (*MASS, *BESIDES):
            form = "I have {have} at home. What can I cook?"
        if rng.random() < 0.35:
            given = [_some(thing, rng) if rng.random() < 0.6 else thing for thing in given]
        values = {"have": join(given), "told": told}
        key = f"meals/{values['have']}/{form}"
        return Exchange(key, expand(form, rng, values), expand(section.answers[0], rng, values))


# Of these there "is" some.
MASS = ("rice", "pasta", "bread", "chicken", "cheese", "milk", "flour", "fish", "beef", "butter")

# What many people have at home.
COMMON = {
    *("eggs", "potatoes", "pasta", "rice", "cheese", "tomatoes", "chicken", "bread", "onions"),
    *("flour", "milk", "bananas", "apples"),
}


def _often(row: Row) -> int:
    """How many times as often as the rarest what `row` needs is there."""
    have = _have(row)
    return 1 + 2 * (len(have) - 1) * (set(have) <= COMMON)


def dish_of(given: list[str]) -> Row:
    """The first row of data/meals.table all of whose things are `given`."""
    return next(row for row in table("meals.table") if set(_have(row)) <= set(given))


def dish_named(told: str) -> str:
    """The dish of the first row of data/meals.table that says `told`."""
    row = next(row for row in table("meals.table") if row["told"] == told)
    return str(row["dish"])


def _some(thing: str, rng: Random) -> str:
    """`thing` with a word for how much of it there is, which changes nothing."""
    if thing.startswith("some "):
        return thing
    many = thing not in MASS and thing.endswith("s")
    some = ("some", "a few", "two", "three", "a lot of") if many else ("some", "a bit of")
    return f"{rng.choice(some)} {thing}"


def _have(row: Row) -> tuple[str, ...]:
    return items(row["have"])
