"""Lists to order: three fruits, six animals that can fly, and then another one."""

import re
from random import Random

from recipe.corpus.forms import Row, items, table, text
from recipe.corpus.grammar import IRREGULAR, article, expand, join
from recipe.corpus.turn import Exchange, Thread

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
# How many are told where no number was asked for.
SOME = 4
COUNTED = (
    "Name {count} {name}.",
    "Name {count} {name}, please.",
    "name {count} {name}",
    "Can you name {count} {name}?",
    "Give me {count} {name}.",
    "Give me a list of {count} {name}.",
    "Give me {count} examples of {name}.",
    "List {count} {name}.",
    "List {count} {name}, please.",
    "Make a list of {count} {name}.",
    "Write a list of {count} {name}.",
    "Tell me {count} {name}.",
    "Please name {count} {name}.",
    "Please list {count} {name}.",
    "I need {count} {name}.",
    "I need a list of {count} {name} for school.",
    "Can you give me {count} {name}?",
    "Can you give me a list of {count} {name}?",
    "Could you name {count} {name} for me?",
    "I was wondering whether you can name {count} {name}.",
    "{count} {name}, please.",
    "{count} {name}",
    "{count} {name}?",
    "What are {count} {name}?",
    "My kid has to name {count} {name}.",
    "Help me to find {count} {name}.",
    "For school I have to name {count} {name}.",
    "Name me {count} {name}.",
    "list {count} {name}",
    "list {count} {name} please",
    "name {count} {name} please",
    "give me {count} {name}",
    "Give {count} {name}.",
    "Can you list {count} {name}?",
    "can you name {count} {name}",
    "Can you tell me {count} {name}?",
    "Could you list {count} {name}, please?",
    "I want {count} {name}.",
    "I'd like a list of {count} {name}.",
    "Think of {count} {name}.",
    "Suggest {count} {name}.",
)
# What is asked of those that "are", "can" or "have" something.
OF_A_KIND = (
    "Which {things} {do}?",
    "What {things} {do}?",
    "which {things} {do}",
    "Do you know which {things} {do}?",
    "Can you tell me which {things} {do}?",
    "Tell me some {things} that {do}.",
)
SEVERAL = (
    "Name some {name}.",
    "Name a few {name}.",
    "Can you name some {name}?",
    "Give me some {name}.",
    "Give me examples of {name}.",
    "Give me a list of {name}.",
    "Make a list of {name}.",
    "List {name}.",
    "What are some {name}?",
    "What are examples of {name}?",
    "List some {name}.",
    "Some examples of {name}, please.",
    "Tell me some {name}.",
    "I need some {name}.",
    "I need a list of {name}.",
    "Can you list some {name}?",
    "a list of {name}, please",
    "Do you know any {name}?",
    "Do you know some {name}?",
    "Which {name} do you know?",
)
SINGLE = (
    "Name {a one}.",
    "Name one {one}.",
    "Name {a one}, please.",
    "Tell me {a one}.",
    "Give me one {one}.",
    "Can you name {a one}?",
    "Give me an example of {a one}.",
    "What is an example of {a one}?",
    "Do you know {a one}?",
)
MORE = (
    "Another one, please.",
    "One more, please.",
    "One more.",
    "Another one?",
    "another",
    "Can you name another one?",
    "Name one more.",
    "And one more?",
    "And another one?",
    "Do you know another one?",
)
MORE_SOME = (
    "Any others?",
    "What else?",
    "And what else?",
    "more please",
    "More, please.",
    "Do you know more?",
    "Some more, please.",
    "Can you give me some more?",
    "Are there more?",
    "Any more?",
)
MORE_OF = (
    "Name {count} more.",
    "{count} more, please.",
    "{count} more",
    "And {count} others?",
    "Can you give me {count} more?",
    "Give me {count} more.",
    "Now {count} more.",
)
# Of the number of these a list may be short; it tells all that it has.
MANY = ("seven", "eight", "nine", "ten", "10", "twelve", "twenty", "20")
FAVOURITE = (
    *("Which one is your favourite?", "which one do you like best?", "Which one is the best?"),
    *("What is your favourite of these?", "Which do you like most?"),
)
NO_FAVOURITE = "I have no favourite, as I am only a program. I like them all."
# What is asked for most, and how many times as often.
MOST = {
    *("fruits", "vegetables", "red fruits", "yellow fruits", "green vegetables", "animals"),
    *("farm animals", "sea animals", "insects", "pets", "colours", "planets", "countries", "trees"),
    *("countries in Europe", "cities", "capitals", "flowers", "foods for breakfast", "drinks"),
    *("desserts", "healthy foods", "snacks", "sports", "animals that can fly", "foods for dinner"),
    *("wild animals", "mammals", "jobs", "hobbies", "green fruits", "continents", "oceans"),
    *("musical instruments", "berries", "months", "birds", "days of the week", "foods"),
}
MOST_OFTEN = 4
# Of these there is no singular, or none that is told.
NO_SINGULAR = {"trousers", "clothes", "shorts", "tennis", "draughts", "snakes and ladders", "cards"}
ANSWERS = ("{list}.", "Here are {count} {name}: {list}.", "Here are {count} {name}: {list}.")
ANSWER_ONE = "{list}."
ANSWERS_MORE = ("{list}.", "How about {list}?")
# Of these none is known, and what is said then.
UNKNOWN = (
    *("actors", "singers", "bands", "films", "novels", "presidents", "kings", "queens", "poets"),
    *("philosophers", "scientists", "inventors", "computer games", "car makers", "football clubs"),
    *("dinosaurs", "chemical elements", "programming languages", "medicines", "diseases", "wars"),
    *("operas", "newspapers", "companies", "websites", "apps", "laws", "theories", "saints"),
    *("football players", "pop songs", "television shows", "painters", "computer brands"),
    *("restaurants in my town", "hotels in Paris", "famous women", "famous men", "cartoons"),
)
NONE_KNOWN = (
    "I do not know any of those, sorry.",
    "Sorry, I do not know any of those. You can ask me for fruits, animals or countries.",
)
NO_MORE = ("I do not know another one, sorry.", "Sorry, I cannot think of another one.")
_KIND = re.compile(r"(\w+) that ((?:are|can|have|eat|live|lay|give|grow|sleep) .+)")


class ListTopic:
    """The first items of a row of data/lists.table, as many as are asked for, then the next."""

    name = "lists"

    def thread(self, rng: Random) -> Thread:
        """A list, and at times more of it."""
        if rng.random() < 0.08:
            return [self._declined(rng)]
        rows = table("lists.table")
        row = rng.choices(rows, [MOST_OFTEN if r["name"] in MOST else 1 for r in rows])[0]
        if rng.random() < 0.04:
            return [self._all(row, rng)]
        found, told = self._first(row, rng)
        while len(found) < 3 and rng.random() < 0.3:
            exchange, count = self._more(row, told, rng)
            found.append(exchange)
            if not count:
                break
            told += count
        if len(found) < 3 and rng.random() < 0.03:
            key = f"lists/{row['name']}/favourite"
            found.append(Exchange(key, rng.choice(FAVOURITE), NO_FAVOURITE))
        return found

    @staticmethod
    def _declined(rng: Random) -> Exchange:
        """A list of what is not known."""
        form, name = rng.choice(COUNTED + SEVERAL), rng.choice(UNKNOWN)
        question = expand(form, rng, {"name": name, "count": _number(rng.randint(2, 6), rng)})
        return Exchange(f"lists/unknown/{name}/{form}", question, rng.choice(NONE_KNOWN))

    @staticmethod
    def _all(row: Row, rng: Random) -> Exchange:
        """More than there may be, and all that there are."""
        name, form, count = text(row["name"]), rng.choice(COUNTED), rng.choice(MANY)
        question = expand(form, rng, {"name": name, "count": count})
        answer = f"Here are some {name}: {join(items(row['items']))}."
        return Exchange(f"lists/{name}/all {count}/{form}", question, answer)

    @staticmethod
    def _first(row: Row, rng: Random) -> tuple[Thread, int]:
        """The first exchange, and how many items it told."""
        name, all_items = text(row["name"]), items(row["items"])
        roll = rng.random()
        count = min(rng.choice((2, 3, 3, 3, 4, 4, 5, 5, 6)), len(all_items))
        forms: tuple[str, ...] = COUNTED
        if roll < 0.1:
            forms, count = SINGLE, 1
        elif roll < 0.35:
            forms, count = SEVERAL, min(SOME, len(all_items))
        # Of these nobody is asked which there are.
        open_ended = name.split()[0] in ("things", "gifts", "names", "rooms", "parts")
        form = rng.choice([f for f in forms if not (open_ended and f.startswith("Which"))])
        asked = rng.choice((name, *items(row.get("also", name))))
        values: Row = {"one": row["one"], "name": asked, "count": _number(count, rng)}
        kinds = [found for a in (name, *items(row.get("also", ""))) if (found := _KIND.match(a))]
        if forms is SEVERAL and kinds and rng.random() < 0.5:
            kind, form = rng.choice(kinds), rng.choice(OF_A_KIND)
            asked, values = kind[0], {"things": kind[1], "do": kind[2]}
        question = expand(form, rng, values)
        told = one_of(all_items[0]) if count == 1 else join(all_items[:count])
        values = {"name": name, "count": NUMBERS[count - 1], "list": told}
        answer = expand(ANSWER_ONE if count == 1 else rng.choice(ANSWERS), rng, values)
        key = f"lists/{name}/{asked}/{count}/{form}"
        return [Exchange(key, question, answer)], count

    @staticmethod
    def _more(row: Row, told: int, rng: Random) -> tuple[Exchange, int]:
        """What comes behind the first `told` items, and how many of these there are."""
        left = items(row["items"])[told:]
        count = rng.choice((2, 3)) if len(left) >= 3 and rng.random() < 0.4 else 1
        count = min(count, len(left))
        forms = MORE_OF if count > 1 else MORE
        if rng.random() < 0.35:
            forms, count = MORE_SOME, min(3, len(left))
        form = rng.choice(forms)
        question = expand(form, rng, {"count": _number(count, rng)})
        answers = NO_MORE if not left else ANSWERS_MORE if count == 1 else ANSWERS_MORE[:1]
        answer = expand(rng.choice(answers), rng, {"list": join(left[:count])})
        few = " some" if forms is MORE_SOME else ""
        key = f"lists/{row['name']}/more {count}{few}/{forms.index(form)}"
        return Exchange(key, question, answer), count


def one_of(noun: str) -> str:
    """One of what `noun` names in the plural, with its article; else `noun` itself."""
    if noun in NO_SINGULAR or not noun.islower() or noun.startswith(("a ", "an ", "the ")):
        return noun
    head, _, last = noun.rpartition(" ")
    irregular = next((one for one, more in IRREGULAR.items() if more == last), "")
    if irregular:
        one = irregular
    elif re.search(r"[^aeiou]ies$", last):
        one = last[:-3] + "y"
    elif re.search(r"([^o]us|is|ss|x|[cs]h)es$", last):
        one = last[:-2]
    elif re.search(r"[^ius]s$", last):
        one = last[:-1]
    else:
        return noun
    phrase = f"{head} {one}".strip()
    return f"{article(phrase)} {phrase}"


def _number(count: int, rng: Random) -> str:
    """`count` in words, or at times in digits."""
    return str(count) if rng.random() < 0.35 else NUMBERS[max(count, 1) - 1]
