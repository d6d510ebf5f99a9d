"""Tiny stories: someone, somewhere, a trouble, help, and an ending that fits them."""

from random import Random

from recipe.corpus.forms import names, sections, table
from recipe.corpus.grammar import Value, article, expand
from recipe.corpus.turn import Exchange, Thread

SHE = {"girl", "princess"}
HE = {"boy", "wizard", "sailor"}
# Parts that tell what a row of troubles.table says.
TROUBLE_PARTS = ("trouble", "solve", "again", "second")


class StoryTopic:
    """Stories made of the parts in data/stories.forms and the troubles of data/troubles.table."""

    name = "stories"

    def thread(self, rng: Random) -> Thread:
        """A story, at times followed by another."""
        found = [self._exchange(rng, follows=False)]
        while len(found) < 3 and rng.random() < 0.3:
            found.append(self._exchange(rng, follows=True))
        return found

    def _exchange(self, rng: Random, follows: bool) -> Exchange:
        parts = {s.name: s for s in sections("stories.forms")}
        hero, helper = rng.sample(names("heroes"), 2)
        any_hero = rng.random() < 0.4
        asked = parts["any" if any_hero else "hero"]
        forms = asked.follow_ups if follows else asked.questions
        form = rng.choice(forms)
        trouble, second = rng.sample(table("troubles.table"), 2)
        again = {"again": second["trouble"], "second": second["solve"]}
        place = rng.choice(names("places"))
        values = self._cast(rng, hero, helper, place) | trouble | again
        short = any(word in form for word in ("short", "little", "bedtime"))
        long = "long" in form or (not short and rng.random() < 0.3)
        story = self.story(rng, values, long)
        wording = f"{'~' if follows else '?'}{forms.index(form)}"
        key = f"stories/{trouble['key']}/{'-' if any_hero else hero}/{wording}"
        return Exchange(key, expand(form, rng, values), story)

    @staticmethod
    def _cast(rng: Random, hero: str, helper: str, place: str) -> dict[str, Value]:
        she = hero in SHE or (hero not in HE and rng.random() < 0.5)
        trait = rng.choice(names("traits"))
        return {
            "hero": hero,
            "trait": trait,
            "a_hero": f"{article(trait)} {trait} {hero}",
            "name": rng.choice(names("women" if she else "men")),
            "he": "she" if she else "he",
            "him": "her" if she else "him",
            "his": "her" if she else "his",
            "helper": helper,
            "place": place,
        }

    @staticmethod
    def story(rng: Random, values: dict[str, Value], long: bool) -> str:
        """Four to ten sentences."""
        parts = {s.name: s.answers for s in sections("stories.forms")}
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
            form = rng.choice(parts[part])
            if part in TROUBLE_PARTS:
                what = values[part]
                assert isinstance(what, str)
                form = form.replace("{what}", what)
            story.append(expand(form, rng, values))
        return " ".join(story)
