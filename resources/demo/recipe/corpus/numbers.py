"""Counting up to twenty, small sums, and the order of numbers, days, months and letters."""

from collections.abc import Mapping
from random import Random

from recipe.corpus.forms import names, section_of
from recipe.corpus.grammar import capitalise, expand
from recipe.corpus.turn import Exchange, Thread

NUMBERS = (
    *names("numbers"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
DAYS = names("days")
MONTHS = names("months")
LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
# Sections of data/numbers.forms with one answer, and how often each is asked for.
FIXED = {
    **{"ten": 14, "twenty": 7, "down ten": 12, "down five": 6, "down three": 2, "down twenty": 2},
    **{"twos": 6, "twos twenty": 3, "odd": 2, "fives": 2, "tens": 3, "threes": 1},
    **{"days": 12, "months": 12, "alphabet": 10, "letters": 2, "vowels": 3, "weekend": 2},
    **{"first day": 2, "last day": 2, "first month": 2, "last month": 2, "shortest month": 2},
    **{"week": 3, "year": 3, "year days": 2, "year weeks": 2, "day": 2, "hour": 2, "minute": 2},
    "dozen": 1,
}
# What may well be asked after each of them.
THEN = {
    **{"ten": ("down ten", "twenty", "twos"), "twenty": ("twos twenty",), "down ten": ("twenty",)},
    **{"twos": ("twos twenty", "odd", "fives"), "days": ("months", "weekend", "first day")},
    **{"months": ("days", "shortest month"), "alphabet": ("letters", "vowels")},
    **{"week": ("days", "year"), "year": ("months", "year days"), "day": ("hour",)},
    **{"hour": ("minute",), "year days": ("year weeks",)},
}
# Kinds of questions, and how often each is asked.
KINDS = {
    **{"fixed": 42, "after": 19, "before": 6, "sum": 22, "count": 5, "down": 4, "between": 2},
    **{"length": 4, "parity": 4, "far": 2, "many": 7, "tomorrow": 2},
}
ORDERS = (
    ("number", NUMBERS[:11], 3),
    ("day", DAYS, 4),
    ("month", MONTHS, 4),
    ("letter", LETTERS, 2),
)
SIGNS = ("{} + {}", "{} + {}", "{}+{}", "{}+{}", "{} plus {}", "{} plus {}")
MANY = {
    "legs does a spider have": "eight",
    "legs does an insect have": "six",
    "arms does an octopus have": "eight",
    "seasons are in a year": "four",
    "wheels does a bicycle have": "two",
    "wheels does a car have": "four",
    "legs does a dog have": "four",
    "legs does a cat have": "four",
    "wings does a butterfly have": "four",
    "fingers are on one hand": "five",
    "toes are on one foot": "five",
    "sides does a triangle have": "three",
    "sides does a square have": "four",
    "hearts does an octopus have": "three",
    "eyes do most spiders have": "eight",
    "strings does a violin have": "four",
}


class NumberTopic:
    """Questions about order and number, of data/numbers.forms."""

    name = "numbers"

    def thread(self, rng: Random) -> Thread:
        """One question, or up to three, often of one kind."""
        length = rng.choices((1, 2, 3), (55, 30, 15))[0]
        found: Thread = []
        while len(found) < length:
            follow = self._next(rng, found[-1].key) if found and rng.random() < 0.75 else None
            found.append(follow or self._first(rng))
        return found

    def _first(self, rng: Random) -> Exchange:
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        if kind == "fixed":
            return self._fixed(rng, rng.choices(list(FIXED), list(FIXED.values()))[0])
        if kind == "many":
            return self._many(rng)
        if kind in ("count", "down", "between"):
            return self._counted(rng, kind)
        if kind in ("after", "before"):
            name, items, _ = rng.choices(ORDERS, [weight for *_, weight in ORDERS])[0]
            return self._ordered(rng, kind, name, rng.randrange(len(items)))
        if kind == "tomorrow":
            return self._ordered(rng, kind, "day", rng.randrange(len(DAYS)))
        return self._looked_up(rng, kind)

    def _next(self, rng: Random, key: str) -> Exchange | None:
        """A question that follows from the one of `key`, if there is one."""
        _, kind, value, _ = key.split("/", 3)
        if kind in THEN:
            return self._fixed(rng, rng.choice(THEN[kind]), follows=True)
        if kind == "count":
            return self._counted(rng, "down", int(value), follows=True)
        if kind in ("after", "before", "after that"):
            name, place = value.split()
            items = next(items for known, items, _ in ORDERS if known == name)
            if rng.random() < 0.6 and kind != "before":
                return self._ordered(rng, "after that", name, (int(place) + 1) % len(items), True)
            kind = rng.choice(("after", "after", "before"))
            return self._ordered(rng, kind, name, rng.randrange(len(items)), True)
        if kind in ("length", "parity", "sum"):
            return self._looked_up(rng, kind, follows=True)
        return None

    @staticmethod
    def _made(
        rng: Random, kind: str, value: str, follows: bool, values: Mapping[str, str]
    ) -> Exchange:
        section = section_of("numbers.forms", kind)
        follows = (follows and bool(section.follow_ups)) or not section.questions
        forms = section.follow_ups if follows else section.questions
        form = rng.choice(forms)
        key = f"numbers/{kind}/{value}/{'~' if follows else '?'}{forms.index(form)}"
        question = expand(form, rng, values)
        return Exchange(key, question, expand(section.answers[0], rng, values))

    def _fixed(self, rng: Random, kind: str, follows: bool = False) -> Exchange:
        return self._made(rng, kind, "-", follows, {})

    def _counted(self, rng: Random, kind: str, last: int = 0, follows: bool = False) -> Exchange:
        """Counting up to `last` or down from it, or between two numbers."""
        last = last or rng.choice((3, 4, 5, 5, 5, 6, 7, 8, 9, 12, 15))
        first = rng.randrange(2, 7) if kind == "between" else 1
        last = rng.randrange(first + 2, 11) if kind == "between" else last
        counted = list(NUMBERS[first - 1 : last])
        if kind == "down":
            counted.reverse()
        words = rng.random() < 0.5
        one, two = (NUMBERS[n - 1] if words else str(n) for n in (first, last))
        values = {"number": two, "one": one, "two": two, "other": ", ".join(counted)}
        value = f"{first} {last}" if kind == "between" else str(last)
        return self._made(rng, kind, value, follows, values)

    def _ordered(
        self, rng: Random, kind: str, name: str, place: int, follows: bool = False
    ) -> Exchange:
        """What comes after the one at `place`, or before it."""
        items = next(items for known, items, _ in ORDERS if known == name)
        if name == "number":
            # There is none before one, and those after ten are another matter.
            place = min(max(place, 1 if kind == "before" else 0), len(items) - 2)
        other = items[(place + (-1 if kind == "before" else 1)) % len(items)]
        asked = items[place]
        if name == "number" and rng.random() < 0.6:
            asked = str(place + 1)
        value = f"{name} {place}"
        values = {"it": asked, "kind": name, "other": other}
        made = self._made(rng, kind, value, follows, values)
        answer = section_of("numbers.forms", kind).answers[0]
        told = expand(answer, rng, {"it": items[place], "other": other})
        return made._replace(answer=told)

    def _looked_up(self, rng: Random, kind: str, follows: bool = False) -> Exchange:
        """The length of a month, whether a number is odd, or a sum of two small numbers."""
        if kind == "length":
            month = rng.choice(MONTHS)
            days = "31"
            if month == "February":
                days = "28 or 29"
            elif month in ("April", "June", "September", "November"):
                days = "30"
            return self._made(rng, kind, month, follows, {"it": month, "other": days})
        if kind == "far":
            end = rng.choice(("25", "30", "50", "100", "100", "100", "a hundred", "1000"))
            return self._made(rng, kind, end, follows, {"number": end})
        words = rng.random() < 0.3
        if kind == "parity":
            n = rng.randint(1, 10)
            asked = NUMBERS[n - 1] if words else str(n)
            other = "even" if n % 2 == 0 else "odd"
            values = {"number": asked, "name": NUMBERS[n - 1], "other": other}
            return self._made(rng, kind, str(n), follows, values)
        a, b = rng.randint(1, 10), rng.randint(1, 10)
        if (roll := rng.random()) < 0.2:
            a = b = rng.choice((1, 2, 2, 3, 4, 5, 10))
        elif roll < 0.6:
            a, b = rng.randint(1, 5), rng.randint(1, 5)
        one, two = (NUMBERS[n - 1] if words else str(n) for n in (a, b))
        values = {
            **{"one": one, "two": two, "sum": rng.choice(SIGNS[4:] if words else SIGNS)},
            **{"first": NUMBERS[a - 1], "second": NUMBERS[b - 1], "other": NUMBERS[a + b - 1]},
        }
        values["sum"] = values["sum"].format(one, two)
        return self._made(rng, kind, f"{a} {b}", follows, values)

    @staticmethod
    def _many(rng: Random) -> Exchange:
        asked, count = rng.choice(list(MANY.items()))
        things, verb, whose = asked.split(" ", 2)
        if verb == "are":
            told = f"There are {count} {things} {whose}."
        else:
            owner = whose.removesuffix(" have")
            told = f"{owner} {'has' if verb == 'does' else 'have'} {count} {things}."
        forms = ("How many {0}?", "Do you know how many {0}?", "Tell me: how many {0}?")
        # A clause would need another order of the words.
        form = forms[0] if verb != "are" else rng.choice(forms)
        key = f"numbers/many/{asked}/{forms.index(form)}"
        return Exchange(key, form.format(asked), capitalise(told))
