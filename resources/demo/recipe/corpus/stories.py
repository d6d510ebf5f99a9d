"""Tiny stories: what is asked for happens in them to whom is asked for."""

import re
from collections.abc import Mapping
from functools import cache
from random import Random

from recipe.corpus.forms import Section, items, sections, table, text
from recipe.corpus.grammar import Value, article, expand
from recipe.corpus.turn import Exchange, Thread

# How much of a story is asked for, and how often.
ASKED = (
    *(("any", 9), ("hero", 20), ("plot", 36), ("pair", 5), ("named", 9), ("named plot", 11)),
    *(("tale", 13), ("no tale", 3), ("tone", 7), ("strange plot", 9), ("named child", 4)),
)
# Who is in a story of no wish, and what happens: each is told after the one before it.
ANY = (
    *(("fox", "lost"), ("girl", "star"), ("mouse", "friend"), ("boy", "moon")),
    *(("rabbit", "cake"), ("robot", "paint"), ("bear", "sleep"), ("dragon", "sing")),
)
# Plots that do not fit a hero of whom only the kind is asked for.
UNFIT = {
    "fly": (
        "bird",
        "bee",
        "robin",
        "crow",
        "owl",
        "duck",
        "butterfly",
        "fairy",
        "dragon",
        "hen",
        "parrot",
        "chicken",
        "superhero",
    ),
    "swim": (
        "duck",
        "frog",
        "turtle",
        "penguin",
        "otter",
        "beaver",
        "fisherman",
        "sailor",
        "crocodile",
    ),
    "dragon": ("dragon",),
    "moon": ("alien",),
    "small": ("elephant", "bear", "lion", "tiger", "giraffe", "horse", "cow", "giant"),
    "race": ("snail", "turtle"),
    "read": ("owl", "teacher", "grandmother", "doctor"),
    "noise": ("ghost",),
    "lie": ("baker",),
    "pet": ("puppy", "dog"),
    "wish": ("fairy", "spider"),
    "invent": ("robot",),
    "grandmother": ("grandmother",),
    "sea": ("sailor", "pirate", "fisherman"),
}
# Plots of the young only.
YOUNG = ("school", "small", "read", "dark", "swim", "pet", "grandmother")
# What fills the slots of such plots is asked for with them.
FILLED = ("finds", "loses", "magic", "young", "meets", "helps")
# The share of those among the plots that are asked for, and of each among them.
FILLED_SHARE = 0.4
FILLED_WEIGHTS = (5, 3, 2, 2, 3, 2)
# What a hero does of whom it is asked what he is like.
LIKE = {
    **{"sad": "sad", "lonely": "friend", "lazy": "work", "shy": "sing", "brave": "brave"},
    **{"small": "small", "tiny": "small", "clever": "invent", "curious": "noise"},
    **{"hungry": "cake", "sick": "ill", "bored": "bored", "rich": "rich", "angry": "quarrel"},
    **{"tired": "sleep", "greedy": "rich", "kind": "visit", "friendly": "visit"},
}
# Plots of those that are no animals.
OF_PEOPLE = ("rich", "invent", "grandmother", "pet")
# So many plots each hero has that is asked for without one.
PLOTS_OF_A_HERO = 4
# What is said after a story, and how often.
AFTER = (
    *(("another", 40), ("happier", 12), ("next", 9), ("liked", 12), ("about", 12), ("longer", 4)),
    *(("funnier", 4), ("where", 3), ("who", 3), ("name", 2), ("help", 3), ("sadder", 2)),
    *(("moral", 3), ("true", 3), ("scarier", 2), ("disliked", 2)),
    ("ending", 3),
)
# What only a story with a hero can be asked.
OF_A_HERO = ("where", "who", "name", "help")
NAMED = 0.5
# What a reply may offer, and how it is taken.
ANOTHER = "I can tell you another one."
YES = ("Yes, please.", "Yes please", "Yes", "OK", "Please do.", "Sure!", "I would like that.")


class StoryTopic:
    """Stories of plots.forms, tales.forms and tones.forms in data/, of heroes in casts.table."""

    name = "stories"

    def thread(self, rng: Random) -> Thread:
        """A story, at times followed by words about it or by another."""
        found, values = self._story(rng, _choice(ASKED, rng), {})
        thread = [found]
        said: set[str] = set()
        while len(thread) < 4 and rng.random() < 0.36:
            part = _choice(AFTER, rng)
            if part == "another":
                kind = "any" if rng.random() < 0.5 else _choice(ASKED, rng)
                found, values = self._story(rng, kind, values, follows=True)
                thread.append(found)
                said = set()
            elif part not in said and (made := _after(rng, part, values)):
                thread.append(made)
                said.add(part)
                if made.answer.endswith(ANOTHER) and rng.random() < 0.5:
                    found, values = self._story(rng, "any", values, follows=True)
                    thread.append(found._replace(question=rng.choice(YES)))
                    said = set()
        return thread

    def offered(self, rng: Random) -> Thread:
        """A story for somebody who said yes to one."""
        return [self._story(rng, "any", {})[0]]

    def _story(
        self, rng: Random, kind: str, before: Mapping[str, Value], follows: bool = False
    ) -> tuple[Exchange, dict[str, Value]]:
        """A story of `kind`, and what it has in it; another than that of `before`."""
        if kind in ("tale", "no tale", "tone"):
            return _tale(rng, kind, before, follows)
        values = _cast(rng, kind, before)
        section = _parts()["plot" if kind == "strange plot" else kind]
        asked = section.follow_ups if follows else section.questions
        form = rng.choice(asked)
        if "{a trait}" in form or "{trait}" in form:
            like = not any(word in kind for word in ("plot", "child"))
            trait = rng.choice(tuple(LIKE) if like else cast("asked traits"))
            values |= {"trait": trait, "a_hero": f"{article(trait)} {trait} {values['hero']}"}
            if like:
                values["plot"] = LIKE[trait]
        plot = _plot(values)
        strange = kind == "strange plot"
        wish = rng.choice(cast("strange plots") if strange else plot.questions)
        wanted = expand(form.replace("{plot}", wish), rng, values)
        told = self.story(rng, plot, values, "long" in wanted.lower().split())
        if strange:
            lead = expand(_parts()["strange lead"].answers[0], rng, values)
            told = f"{lead} {told}"
        values["about"] = expand(plot.additions[0], rng, {**values, "the": f"the {values['hero']}"})
        wording = f"{'~' if follows else '?'}{asked.index(form)}"
        key = f"stories/{plot.name}/{values['hero']} {values.get('given', '-')}/{wording}"
        return Exchange(key, wanted, told), values

    @staticmethod
    def story(rng: Random, plot: Section, values: dict[str, Value], long: bool) -> str:
        """Six to eight sentences; a `long` one has some more."""
        body = rng.choice(plot.answers)
        # Whether somebody helps is asked later.
        values["helps"] = "yes" if "helper}" in body else ""
        opening = "named opening" if "given" in values else "opening"
        parts = [rng.choice(_parts()[opening].answers), body]
        if long:
            parts.insert(1, rng.choice(_parts()["custom"].answers))
            parts.append(rng.choice(_parts()["end"].answers))
        return " ".join(expand(_named(part, rng, values), rng, values) for part in parts)


def cast(group: str) -> tuple[str, ...]:
    """The items of `group` in data/casts.table. Raises StopIteration if there is none."""
    return items(next(row["items"] for row in table("casts.table") if row["group"] == group))


def _choice(weighted: tuple[tuple[str, int], ...], rng: Random) -> str:
    return rng.choices([name for name, _ in weighted], [weight for _, weight in weighted])[0]


@cache
def _parts() -> dict[str, Section]:
    return {section.name: section for section in sections("stories.forms")}


@cache
def _plots() -> dict[str, Section]:
    return {section.name: section for section in sections("plots.forms")}


def _plot(values: Mapping[str, Value]) -> Section:
    return _plots()[text(values["plot"])]


@cache
def plots_of(hero: str) -> tuple[str, ...]:
    """The plots of a hero of whom only the kind is asked for."""
    grown = hero in cast("grown")
    known = [
        name
        for name in _plots()
        if name not in FILLED
        and hero not in UNFIT.get(name, ())
        and not (grown and name in YOUNG)
        and not (hero in cast("animals") and name in OF_PEOPLE)
    ]
    return tuple(Random(hero).sample(known, PLOTS_OF_A_HERO))


def _named(part: str, rng: Random, values: Mapping[str, Value]) -> str:
    """`part` with the hero in it, by the name that the user gave or not."""

    def called(found: re.Match[str]) -> str:
        if "given" in values and rng.random() < NAMED:
            return text(values["given"])
        return f"{found[1]}he {values['hero']}"

    return re.sub(r"\{([tT])he\}", called, part)


def _cast(rng: Random, kind: str, before: Mapping[str, Value]) -> dict[str, Value]:
    """Who is in a story of `kind` and what happens there, not twice the same in a chat."""
    plots = [name for name in _plots() if kind != "hero" or name not in FILLED]
    while True:
        if kind == "any":
            at = before.get("any")
            place = rng.randrange(len(ANY)) if at is None else (int(text(at)) + 1) % len(ANY)
            if at is None and before:
                seen = {before.get("hero"), before.get("other"), before.get("plot")}
                place = next(i for i, pair in enumerate(ANY) if not seen & set(pair))
            hero, plot = ANY[place]
            extra: dict[str, Value] = {"any": str(place)}
        else:
            groups = ("animals", "animals", "children", "children", "grown")
            hero, extra = rng.choice(cast(rng.choice(groups))), {}
            if rng.random() < 0.15:
                hero = rng.choice(("boy", "girl"))
            if kind == "named child":
                hero = rng.choice(("boy", "girl"))
            plot = rng.choice(plots)
            if kind == "strange plot":
                plot = plots_of(hero)[0]
            elif kind in ("hero", "named", "named child"):
                plot = rng.choice(plots_of(hero))
            elif kind == "pair":
                plot = "meets"
            elif rng.random() < FILLED_SHARE:
                plot = rng.choices(FILLED, FILLED_WEIGHTS)[0]
            if hero in UNFIT.get(plot, ()):
                continue
        if plot != before.get("plot") or (kind == "pair" and hero != before.get("hero")):
            break
    only_he = hero in cast("only he")
    she = hero in cast("she")
    if kind.startswith("named"):
        if not she and not only_he:
            she = rng.random() < 0.5
        known = cast("women" if she else "men")
        weights = [1 / (place + 12) for place in range(len(known))]
        extra["given"] = extra["name"] = rng.choices(known, weights)[0]
    trait = rng.choice(cast("grown traits" if hero in cast("grown") else "traits"))
    noun = rng.choice(cast("magic" if plot == "magic" else "things"))
    thing = f"{rng.choice(cast('old'))} {noun}" if rng.random() < 0.5 else noun
    helpers = [name for name in cast("helpers") if name != hero]
    places = [place for place in cast("places") if plot != "sea" or "sea" not in place]
    others = [name for name in cast("animals") + cast("children") if name != hero]
    return {
        **{"hero": hero, "plot": plot, "trait": trait, "noun": noun, "thing": thing},
        **{"he": "she" if she else "he", "He": "She" if she else "He"},
        **{"him": "her" if she else "him", "his": "her" if she else "his"},
        **{"His": "Her" if she else "His", "helper": rng.choice(helpers)},
        **{"other": rng.choice(others), "young": rng.choice(cast("young"))},
        **{"place": rng.choice(places), "a_hero": f"{article(trait)} {trait} {hero}"},
        **extra,
    }


def _tale(
    rng: Random, kind: str, before: Mapping[str, Value], follows: bool
) -> tuple[Exchange, dict[str, Value]]:
    """A story about a thing, or about another where there is none about it."""
    file = "tones.forms" if kind == "tone" else "tales.forms"
    told = [tale for tale in sections(file) if tale.name != before.get("plot")]
    tale = rng.choice(told)
    section = _parts()["tone" if kind == "tone" else "tale"]
    asked = section.follow_ups if follows else section.questions
    form = rng.choice(asked)
    thing, answer = rng.choice(tale.questions), tale.answers[0]
    if kind == "no tale":
        thing = rng.choice(cast("no tales"))
        line = rng.choice(_parts()[kind].answers)
        answer = f"{expand(line, rng, {'known': tale.name})} {answer}"
    key = f"stories/{tale.name}/{thing}/{'~' if follows else '?'}{asked.index(form)}"
    # Some are asked for in words of their own.
    form = thing if " story " in thing else form
    made = Exchange(key, expand(form, rng, {"tale": thing, "tone": thing}), answer)
    return made, {"plot": tale.name, "about": tale.additions[0]}


def _after(rng: Random, part: str, values: Mapping[str, Value]) -> Exchange | None:
    """What is said after a story, and the reply; None if that does not fit the story."""
    if (part in OF_A_HERO and "hero" not in values) or (part == "help" and not values["helps"]):
        return None
    section = _parts()[part]
    form = rng.choice(section.follow_ups)
    answers = section.answers
    if part == "name" and "given" in values:
        answers = _parts()["given name"].answers
    key = f"stories/{part}/{values.get('hero', '-')}/~{section.follow_ups.index(form)}"
    return Exchange(key, expand(form, rng, values), expand(rng.choice(answers), rng, values))
