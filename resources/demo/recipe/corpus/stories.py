"""Tiny stories: someone, somewhere, a trouble, help, and an ending that fits them."""

from functools import cache
from random import Random

from recipe.corpus.forms import Row, Section, names, sections, table, text
from recipe.corpus.grammar import Value, article, capitalise, expand
from recipe.corpus.turn import Exchange, Thread

SHE = {"girl", "princess"}
HE = {"boy", "wizard", "sailor"}
# Parts that tell what a row of troubles.table says.
TROUBLE_PARTS = ("trouble", "solve", "again", "second")
# How much of a story is asked for: of anyone, of a hero, of a hero with a name and at times more.
ASKED = (("any", 0.25), ("hero", 0.3), ("named", 0.3), ("plot", 0.15))
# So many names, the first of each list, are those that the model gives its heroes.
COMMON = 40
# What may be asked after a story.
BACK = ("who", "where", "help", "matter")


class StoryTopic:
    """Stories made of the parts in data/stories.forms and the troubles of data/troubles.table.

    Each trouble of a chat is later in the table than those before, so none comes twice.
    """

    name = "stories"

    def thread(self, rng: Random) -> Thread:
        """A story, at times followed by questions about it or by another."""
        left = table("troubles.table")
        found, values, left = self._exchange(rng, left, follows=False)
        thread = [found]
        back = rng.sample(BACK, len(BACK))
        while len(thread) < 4 and rng.random() < 0.4:
            if len(left) < 2 or rng.random() < 0.65:
                thread.append(self._asked_back(rng, values, back.pop()))
            else:
                found, values, left = self._exchange(rng, left, follows=True)
                thread.append(found)
                back = rng.sample(BACK, len(BACK))
        return thread

    def _exchange(
        self, rng: Random, left: tuple[Row, ...], follows: bool
    ) -> tuple[Exchange, dict[str, Value], tuple[Row, ...]]:
        """A story of a trouble in `left` or two, its values, and the troubles behind it."""
        parts = _parts()
        kinds = ("any", "hero", "named") if follows else tuple(kind for kind, _ in ASKED)
        asked = rng.choices(kinds, [weight for kind, weight in ASKED if kind in kinds])[0]
        hero, helper = rng.sample(names("heroes"), 2)
        first = rng.randrange(len(left) - 1)
        again = rng.randrange(first + 1, len(left))
        trouble, second = left[first], left[again]
        named = asked in ("named", "plot")
        values = self._cast(rng, hero, helper, named) | _told(trouble, second)
        forms = parts[asked].follow_ups if follows else parts[asked].questions
        form = rng.choice(forms)
        wanted = expand(form.replace("{plot}", text(trouble["plot"])), rng, values)
        short = any(word in wanted.lower() for word in ("short", "little", "bedtime", "tiny"))
        long = "long" in wanted or (not short and rng.random() < 0.3)
        story = self.story(rng, values, long)
        about = {"any": "-", "hero": hero}.get(asked, f"{hero} {values['name']}")
        wording = f"{'~' if follows else '?'}{forms.index(form)}"
        made = Exchange(f"stories/{trouble['key']}/{about}/{wording}", wanted, story)
        return made, values, left[(again if long else first) + 1 :]

    @staticmethod
    def _asked_back(rng: Random, values: dict[str, Value], part: str) -> Exchange:
        section = _parts()[part]
        form = rng.choice(section.follow_ups)
        key = f"stories/{part}/{values['name']}/~{section.follow_ups.index(form)}"
        answer = expand(rng.choice(section.answers), rng, _whole(values))
        return Exchange(key, expand(form, rng, values), answer)

    @staticmethod
    def _cast(rng: Random, hero: str, helper: str, named: bool) -> dict[str, Value]:
        """Who a story is about; `named` if the user gives the name, which may be any."""
        she = hero in SHE or (hero not in HE and rng.random() < 0.5)
        trait = rng.choice(names("traits"))
        known = names("women" if she else "men")
        weights = [1 / place for place in range(1, COMMON + 1)]
        name = rng.choice(known) if named else rng.choices(known[:COMMON], weights)[0]
        return {
            "hero": hero,
            "trait": trait,
            "a_hero": f"{article(trait)} {trait} {hero}",
            "name": name,
            "he": "she" if she else "he",
            "him": "her" if she else "him",
            "his": "her" if she else "his",
            "helper": helper,
            "place": rng.choice(names("places")),
        }

    @staticmethod
    def story(rng: Random, values: dict[str, Value], long: bool) -> str:
        """Four to ten sentences."""
        order = ["opening", "custom", "trouble", "feeling", "try", "helper", "solve", "end"]
        if rng.random() < 0.35:
            order.append("moral")
        left_out = {"custom": 0.35, "feeling": 0.3, "try": 0.3}
        told = [part for part in order if long or rng.random() >= left_out.get(part, 0)]
        if long:
            # Another trouble follows the first.
            told[told.index("end") : told.index("end")] = ["again", "second"]
        story = []
        for part in told:
            form = rng.choice(_parts()[part].answers)
            if part in TROUBLE_PARTS:
                form = form.replace("{what}", text(values[part]))
            story.append(expand(form, rng, values))
        return " ".join(story)


@cache
def _parts() -> dict[str, Section]:
    return {section.name: section for section in sections("stories.forms")}


def _told(trouble: Row, second: Row) -> Row:
    again = {"again": second["trouble"], "second": second["solve"]}
    return {**trouble, **again}


def _whole(values: dict[str, Value]) -> dict[str, Value]:
    """`values` with the trouble as a sentence of its own."""
    found = expand(text(values["trouble"]), Random(0), values, capital=False)
    return values | {"what": found, "What": capitalise(found)}
