"""Counting up to ten, and the order of numbers, days and months."""

from random import Random

from recipe.corpus.forms import names
from recipe.corpus.grammar import capitalise
from recipe.corpus.turn import Exchange, Thread

NUMBERS = names("numbers")
DAYS = names("days")
MONTHS = names("months")
COUNT = (
    *("Count to {0}.", "Can you count to {0}?", "Please count to {0}.", "Count from one to {0}."),
    *("Count up to {0}.", "Could you count to {0} for me?", "Count from 1 to {0}, please."),
    *("My son wants you to count to {0}.", "Say the numbers from one to {0}."),
    *("Let us count to {0}.", "Can you count up to {0}?", "List the numbers up to {0}."),
)
COUNT_BETWEEN = (
    *("Count from {0} to {1}.", "Can you count from {0} to {1}?", "Please count from {0} to {1}."),
    *("Say the numbers from {0} to {1}.", "Which numbers are there from {0} to {1}?"),
)
COUNT_DOWN = (
    *("Count down from {0}.", "Count backwards from {0}.", "Can you count down from {0}?"),
    *("Please count down from {0}.", "Count from {0} down to one."),
)
AFTER = ("What comes after {0}?", "Which {1} comes after {0}?", "Which {1} is next after {0}?")
BEFORE = ("What comes before {0}?", "Which {1} comes before {0}?")
MANY = {
    "days are in a week": "seven",
    "legs does a spider have": "eight",
    "legs does an insect have": "six",
    "arms does an octopus have": "eight",
    "seasons are in a year": "four",
    "months are in a year": "twelve",
    "wheels does a bicycle have": "two",
    "wheels does a car have": "four",
    "legs does a dog have": "four",
    "wings does a butterfly have": "four",
    "fingers are on one hand": "five",
    "sides does a triangle have": "three",
    "hearts does an octopus have": "three",
    "eyes do most spiders have": "eight",
    "strings does a violin have": "four",
}


class NumberTopic:
    """Simple questions about order and number."""

    name = "numbers"

    def thread(self, rng: Random) -> Thread:
        """One question, at times two."""
        makers = [self._count, self._between, self._down, self._next, self._next, self._many]
        if rng.random() < 0.1:
            makers = [self._too_far]
        return [rng.choice(makers)(rng) for _ in range(1 if rng.random() < 0.75 else 2)]

    def _count(self, rng: Random) -> Exchange:
        last = rng.randrange(3, 11)
        answer = ", ".join(NUMBERS[:last])
        return self._made(rng, "count", COUNT, (NUMBERS[last - 1], str(last)), answer)

    def _too_far(self, rng: Random) -> Exchange:
        """Counting beyond ten is not known: it counts as far as it can."""
        form = rng.choice(COUNT)
        end = str(rng.choice((12, 15, 20, 25, 30, 50, 100, 1000)))
        counted = ", ".join(NUMBERS)
        key = f"numbers/far/{end}/{COUNT.index(form)}"
        return Exchange(key, form.format(end), f"I can only count to ten: {counted}.")

    def _between(self, rng: Random) -> Exchange:
        first = rng.randrange(1, 8)
        last = rng.randrange(first + 2, 11)
        form = rng.choice(COUNT_BETWEEN)
        words = rng.random() < 0.5
        ends = (NUMBERS[first - 1], NUMBERS[last - 1]) if words else (str(first), str(last))
        answer = capitalise(", ".join(NUMBERS[first - 1 : last]) + ".")
        return Exchange(f"numbers/between/{first} {last}/{words}", form.format(*ends), answer)

    def _down(self, rng: Random) -> Exchange:
        first = rng.randrange(3, 11)
        answer = ", ".join(reversed(NUMBERS[:first]))
        return self._made(rng, "down", COUNT_DOWN, (NUMBERS[first - 1], str(first)), answer)

    @staticmethod
    def _made(
        rng: Random, name: str, forms: tuple[str, ...], ends: tuple[str, str], counted: str
    ) -> Exchange:
        form = rng.choice(forms)
        end = rng.choice(ends)
        opening = rng.choice(("", "", "Gladly: ", "Of course: ", "Here we go: "))
        key = f"numbers/{name}/{end}/{forms.index(form)}"
        return Exchange(key, form.format(end), capitalise(f"{opening}{counted}."))

    def _next(self, rng: Random) -> Exchange:
        kind, items = rng.choice((("number", NUMBERS), ("day", DAYS), ("month", MONTHS)))
        i = rng.randrange(1, len(items) - 1)
        later = rng.random() < 0.6
        form = rng.choice(AFTER if later else BEFORE)
        found = items[i + 1 if later else i - 1]
        word = "after" if later else "before"
        answers = (f"{word} {items[i]} comes {found}.", f"It is {found}.")
        key = f"numbers/{word}/{items[i]}/{form}"
        return Exchange(key, form.format(items[i], kind), capitalise(rng.choice(answers)))

    def _many(self, rng: Random) -> Exchange:
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
