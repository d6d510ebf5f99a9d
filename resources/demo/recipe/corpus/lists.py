"""Lists to order: three fruits, a bird, and then another one."""

from random import Random

from recipe.corpus.forms import table
from recipe.corpus.grammar import expand, join
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
    "Which {name} do you know?",
    "Name some {name}.",
    "Do you know any {name}?",
    "Give me examples of {name}.",
    "What are some {name}?",
    "List some {name}.",
)
MORE = (
    "Another one, please.",
    "One more, please.",
    "Another one?",
    "Can you name another one?",
    "Name one more.",
    "And one more?",
)
ANSWERS = (
    "{list}.",
    "[Sure|Of course|Gladly]: {list}.",
    "Here are {count}: {list}.",
    "I can name {list}.",
    "{count} {name} are {list}.",
    "[How about|What about] {list}?",
)
ANSWERS_MORE = ("{item}.", "[Sure|Of course]: {item}.", "Another one: {item}.", "How about {item}?")


class ListTopic:
    """Some of the items of a row of data/lists.table."""

    name = "lists"

    def thread(self, rng: Random) -> Thread:
        """A list, and at times one item more, which is new."""
        row = rng.choice(table("lists.table"))
        name, items = row["name"], row["items"]
        assert isinstance(items, tuple)
        count = min(rng.choice((2, 3, 3, 3, 4, 5)), len(items))
        chosen = rng.sample(items, count)
        form = rng.choice(ASKED)
        values = {"name": name, "count": COUNTS[count], "list": join(chosen)}
        key = f"lists/{name}/{count if '{count}' in form else '-'}/{ASKED.index(form)}"
        answer = expand(rng.choice(ANSWERS), rng, values)
        found = [Exchange(key, expand(form, rng, values), answer)]
        left = [item for item in items if item not in chosen]
        while left and len(found) < 3 and rng.random() < 0.35:
            item = left.pop(rng.randrange(len(left)))
            form = rng.choice(MORE)
            answer = expand(rng.choice(ANSWERS_MORE), rng, {"item": item})
            found.append(Exchange(f"lists/{name}/more/{MORE.index(form)}", form, answer))
        return found
