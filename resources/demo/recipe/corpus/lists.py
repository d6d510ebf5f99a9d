"""Lists to order: three fruits, a bird, and then another one."""

from random import Random

from recipe.corpus.forms import items, table
from recipe.corpus.grammar import expand, join
from recipe.corpus.order import in_order
from recipe.corpus.turn import Exchange, Thread

COUNTS = {2: "two", 3: "three", 4: "four", 5: "five"}
ASKED = (
    "Name {count} {name}.",
    "Name {count} {name}, please.",
    "Can you name {count} {name}?",
    "Give me {count} {name}.",
    "List {count} {name}.",
    "Tell me {count} {name}.",
    "Please name {count} {name}.",
    "I need {count} {name}.",
    "Can you give me {count} {name}?",
    "Could you name {count} {name} for me?",
    "I was wondering whether you can name {count} {name}.",
    "{count} {name}, please.",
    "{count} different {name}?",
    "Which {name} do you know?",
    "Name some {name}.",
    "Do you know any {name}?",
    "Give me examples of {name}.",
    "What are some {name}?",
    "List some {name}.",
    "Some examples of {name}, please.",
)
MORE = (
    "Another one, please.",
    "One more, please.",
    "Another one?",
    "Can you name another one?",
    "Name one more.",
    "And one more?",
)
MORE_OF = ("Name {count} more.", "{count} more, please.", "And {count} others?")
ANSWERS = (
    "{list}.",
    "[Sure|Of course|Gladly]: {list}.",
    "Here are {count}: {list}.",
    "I can name {list}.",
    "Here are {count} {name}: {list}.",
    "{list} are {name}.",
)
ANSWERS_MORE = ("{item}.", "[Sure|Of course]: {item}.", "Another one: {item}.", "How about {item}?")


NO_MORE = (
    "I do not know another one, sorry.",
    "Sorry, I cannot think of another one.",
    "I cannot think of more {name}, sorry.",
)


class ListTopic:
    """Some of the items of a row of data/lists.table, in their order."""

    name = "lists"

    def thread(self, rng: Random) -> Thread:
        """A list, and at times more of it, which comes behind it in the table."""
        row = rng.choice(table("lists.table"))
        name, left = row["name"], items(row["items"])
        count = min(rng.choice((2, 3, 3, 3, 4, 5)), len(left))
        # What is asked for next is mostly there.
        chosen = in_order(left[: rng.randint(count, len(left))], count, rng)
        left = _behind(chosen, left)
        place = name.split()[0] in ("things", "parts", "rooms")
        form = rng.choice([form for form in ASKED if not (place and "know" in form)])
        values = {"name": name, "count": COUNTS[count], "list": join(chosen)}
        key = f"lists/{name}/{count if '{count}' in form else '-'}/{ASKED.index(form)}"
        told = [answer for answer in ANSWERS if not (place and "are {name}" in answer)]
        answer = expand(rng.choice(told), rng, values)
        found = [Exchange(key, expand(form, rng, values), answer)]
        while len(found) < 3 and rng.random() < 0.35:
            count = rng.choice((2, 3))
            several = len(left) > count and rng.random() < 0.3
            chosen = in_order(left, count if several else 1, rng)
            left = _behind(chosen, left)
            values = {"name": name, "count": COUNTS[count], "item": join(chosen)}
            forms, answers = (MORE_OF, ANSWERS_MORE[:2]) if several else (MORE, ANSWERS_MORE)
            form = rng.choice(forms)
            answer = expand(rng.choice(answers if chosen else NO_MORE), rng, values)
            key = f"lists/{name}/more{f' {count}' if several else ''}/{forms.index(form)}"
            found.append(Exchange(key, expand(form, rng, values), answer))
            if not chosen:
                break
        return found


def _behind(chosen: list[str], left: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `left` behind the last of `chosen`."""
    return left[left.index(chosen[-1]) + 1 :] if chosen else ()
