"""Chats about dishes that many people make: how to, what else, how long, and without what."""

import re
from random import Random

from recipe.corpus.forms import Row, Section, framed, items, section_of, table, text
from recipe.corpus.grammar import article, expand
from recipe.corpus.turn import Exchange, Thread

FORMS = "kitchen.forms"
# How a dish should be.
HOW = (
    *("easy", "simple", "quick", "good", "really good", "homemade", "tasty", "delicious"),
    *("basic", "very simple", "easy homemade", "perfect", "classic", "nice", "great"),
)
RECIPES = (
    *("a recipe", "a recipe", "a simple recipe", "an easy recipe", "a quick recipe"),
    *("a good recipe", "the recipe", "your best recipe", "a short recipe"),
)
BEFORE = (
    *("I'm hungry. ", "I am hungry. ", "My kids are hungry. "),
    *("Maybe I will cook something. ", "I want to cook something. ", "It is raining today. "),
    *("I have guests tonight. ", "I am new to cooking. ", "I am not a good cook. "),
    *("It's Sunday and I have time. ", "I have some time today. ", "I feel like cooking. "),
    *("My friend is coming over. ", "My kids love it. ", "I am bored. ", "It is cold outside. "),
    *("Quick question: ", "We want to cook together. ", "I am at home. "),
)
AFTER = (
    *(" It is my first time.", " I have never done it before.", " My kids want some."),
    *(" Thanks!", " Please keep it short.", " My kids love that.", " It is for my kids."),
)
# How often each is asked first, and after an answer.
FIRST = {
    **{"steps": 60, "foods": 9, "time": 6, "oven": 4, "with": 5, "tip": 3, "easy": 3},
    **{"amounts eggs": 2, "amounts flour": 1, "without": 6, "no oven": 1, "tools": 1},
    **{"what": 2, "keep": 1, "vegan": 1},
}
NEXT = {
    **{"time": 8, "oven": 8, "no oven": 2, "with": 8, "tip": 5, "tools": 5, "amounts": 4},
    **{"amounts eggs": 3, "amounts flour": 3, "easy": 5, "without": 14, "thanks": 7, "good": 3},
    **{"other": 5, "done": 3, "keep": 3, "really": 4, "vegan": 2},
}
# What is asked in one go with how to make it, and what tells it.
SECOND = (
    (" and how long does it take?", "time", "It takes {time}."),
    (" How long does it take?", "time", "It takes {time}."),
    (" and what goes well with {them}?", "with", "{with}."),
    (" And what can I serve with {them}?", "with", "{with}."),
    (" Do you have a tip too?", "tip", "Here is a tip: {tip}."),
    (" And how hot should the oven be?", "oven", "{oven}."),
)
# What a dish cannot do without.
MUST = (
    *(("an omelette", "eggs"), ("scrambled eggs", "eggs"), ("a cheese sandwich", "cheese")),
    *(("hot cocoa", "milk"), ("macaroni cheese", "cheese"), ("bread", "flour")),
    *(("rice pudding", "milk"), ("pizza", "flour"), ("French toast", "eggs")),
)
# What is drunk at once; and what data/foods.table tells of.
DRUNK = ("tea", "coffee", "cocoa", "lemonade", "smoothie", "milkshake", "mint tea", "iced tea")
KNOWN = ("pizza", "bread", "chips", "tea", "coffee", "cake", "soup", "pasta")


class KitchenTopic:
    """Questions of data/kitchen.forms about the rows of data/recipes.table.

    What many people make comes more often; dishes of data/strange.table are declined.
    """

    def __init__(self) -> None:
        self.rows = table("recipes.table")
        self._often = [int(text(row["draws"])) for row in self.rows]
        rows = [row for row in table("strange.table") if row["topic"] == "recipes"]
        self._strange = tuple((x, text(row["number"])) for row in rows for x in items(row["items"]))

    def thread(self, rng: Random) -> Thread:
        """One to five exchanges about one dish, or two."""
        if rng.random() < 0.12:
            return [self._declined(rng)]
        row = self._dish(rng)
        return self._chat(row, [self._first(row, rng)], rng)

    def after(self, dish: str, found: Thread, rng: Random) -> Thread:
        """`found`, which named `dish`, and how to make it, if that is known."""
        row = next((row for row in self.rows if row["name"] == dish), None)
        if row is None:
            return found
        section = section_of(FORMS, "steps")
        made = self._exchange(row, section, section.follow_ups, "~", rng)
        return self._chat(row, [*found, made], rng)

    def _dish(self, rng: Random) -> Row:
        return rng.choices(self.rows, self._often)[0]

    def _chat(self, row: Row, found: Thread, rng: Random) -> Thread:
        said = {exchange.key.split("/")[1] for exchange in found}
        while len(found) < 5 and rng.random() < 0.45:
            names = [n for n in NEXT if n not in said and self._fits(n, row)]
            name = rng.choices(names, [NEXT[n] for n in names])[0]
            said.add(name)
            if name.startswith("amounts"):
                said |= {n for n in names if n.startswith("amounts")}
            section = section_of(FORMS, name)
            if name == "other":
                row = self._dish(rng)
                said = {"steps", "other"}
            found.append(self._exchange(row, section, section.follow_ups, "~", rng))
            if name in ("thanks", "good"):
                break
        return found

    def _first(self, row: Row, rng: Random) -> Exchange:
        names = [n for n in FIRST if self._fits(n, row)]
        section = section_of(FORMS, rng.choices(names, [FIRST[n] for n in names])[0])
        return self._exchange(row, section, section.questions, "?", rng)

    @staticmethod
    def _fits(name: str, row: Row) -> bool:
        """Whether `name` can be asked of `row`."""
        if name in ("oven", "no oven", "done"):
            return ("oven" in row) == (name != "no oven")
        if name == "keep":
            return not set(DRUNK) & set(items(row["words"]))
        if name == "what":
            return not set(KNOWN) & set(items(row["words"]))
        if name == "vegan":
            return "oven" in row and {"milk", "eggs", "an egg"} & set(items(row["foods"])) != set()
        if name.startswith("amounts "):
            return name.split()[1][:3] in text(row["amounts"])
        return name != "without" or bool(_left_out(row))

    def _exchange(
        self, row: Row, section: Section, asked: list[str], mark: str, rng: Random
    ) -> Exchange:
        values = {**row, **_called(row, mark == "?" and section.name != "what", rng)}
        if section.name == "without":
            values |= dict(zip(("thing", "instead"), rng.choice(_left_out(row)), strict=True))
        if mark == "?" and section.clauses and rng.random() < 0.2:
            form = rng.choice(section.clauses)
            wording = f"!{section.clauses.index(form)}"
            question = framed(expand(form, rng, values, capital=False), rng, brief=False)
        else:
            form = rng.choice([f for f in asked if _agrees(f, row)])
            wording = f"{mark}{asked.index(form)}"
            question = expand(form, rng, values)
        answer = expand(rng.choice(section.answers), rng, values)
        if section.name == "steps" and mark == "?":
            roll = rng.random()
            if roll < 0.12 and question.endswith("?"):
                asks, needs, told = rng.choice([s for s in SECOND if s[1] in row])
                cut = question.rstrip("?") if asks.startswith(" and") else question
                question = cut + expand(asks, rng, values, capital=False)
                wording += f"+{needs}"
                answer += " " + expand(told, rng, values)
            elif roll < 0.2 and question.endswith((".", "?")):
                question += rng.choice(AFTER)
        if mark == "?" and rng.random() < 0.15:
            question = rng.choice(BEFORE) + question
        return Exchange(f"kitchen/{section.name}/{row['name']}/{wording}", question, answer)

    def _declined(self, rng: Random) -> Exchange:
        """How to make what is not known, asked as of what is known."""
        word, number = rng.choice(self._strange)
        kind = "many" if number == "many" else "mass"
        row: Row = {"words": word, "noun": word, "kind": kind}
        section = section_of(FORMS, "steps")
        forms = [f for f in section.questions if _agrees(f, row)]
        if word.startswith(("a ", "an ")) or "'" in word:
            forms = [f for f in forms if "{noun}" not in f]
        values = _called(row, not word.startswith("a "), rng)
        form = rng.choice(forms)
        question = expand(form, rng, values)
        if rng.random() < 0.15:
            question = rng.choice(BEFORE) + question
        answer = section_of(FORMS, "none").answers[0]
        return Exchange(f"kitchen/none/{word}/?{section.questions.index(form)}", question, answer)


def _agrees(form: str, row: Row) -> bool:
    """Whether the verb of `form` fits the number of what `row` names."""
    several = form.startswith("Are {x}") or " are {x}" in form.lower() or "do {x}" in form
    if row["kind"] == "many" and re.match("(?i)(what )?is {x}", form):
        return False
    # How to cook these themselves is asked in data/meals.forms.
    boiled = " cook {x}" in form.lower() and row.get("name") == "pasta with tomato sauce"
    return not boiled and (row["kind"] == "many" or not several)


def _called(row: Row, how: bool, rng: Random) -> Row:
    """The words for what `row` names; with `how`, at times how it should be."""
    word = rng.choice(items(row["words"]))
    if how and rng.random() < 0.4:
        word = f"{rng.choice(HOW)} {word}"
    if row["kind"] == "one" or "cup of" in word or "loaf of" in word:
        word = f"{article(word)} {word}"
    if how and rng.random() < 0.05:
        own = word.removeprefix("a ").removeprefix("an ")
        word = f"my kids' favourite {own}" if " " not in own else word
    if how and rng.random() < 0.05 and row["kind"] != "many":
        own = word.removeprefix("a ").removeprefix("an ")
        word = f"the best {own}" if " " not in own else word
    many = row["kind"] == "many"
    noun, recipe = rng.choice(items(row["noun"])), rng.choice(RECIPES)
    values: Row = {"x": word, "noun": noun, "recipe": recipe}
    values |= {"bare": rng.choice(items(row["words"])), "are": "are" if many else "is"}
    return {**values, "them": "them" if many else "it", "they": "they" if many else "it"}


def _left_out(row: Row) -> list[tuple[str, str]]:
    """What can be asked to leave out of `row`, and what is said to that."""
    found = []
    for other in table("instead.table"):
        if set(items(other["also"])) & set(items(row["foods"])):
            thing, instead = text(other["thing"]), text(other["instead"])
            if (row["name"], thing) in MUST:
                instead = f"That does not work without {thing}, sorry"
            found.append((thing, instead))
    return found
