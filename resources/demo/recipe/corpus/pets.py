"""Pets: which to get, what they need, which takes more care, and other advice on animals."""

from random import Random

from recipe.corpus.entities import EntityTopic
from recipe.corpus.forms import Row, section_of, table, text
from recipe.corpus.grammar import Value, expand
from recipe.corpus.scripts import ScriptTopic
from recipe.corpus.turn import Exchange, Thread

# Which takes more care; the answer is the same in whatever way it is asked.
EASIER = (
    "Is {a one} [easier|harder|more difficult] to look after than {a two}?",
    "Is {a one} [easier|harder] to keep than {a two}?",
    "Is {a one} [more work|less work|easier|a better pet] than {a two}?",
    "Are {s one} [easier|harder] to look after than {s two}?",
    "Are {s one} [easier|harder|more work|less work|easier to keep] than {s two}?",
    "Which is [easier|harder] to look after, {a one} or {a two}?",
    "Which is [easier|easier to keep|more work|less work], {a one} or {a two}?",
    "What is [easier|easier to look after|more work], {a one} or {a two}?",
    "{a one} or {a two}: which is [easier|more work|easier to look after]?",
    "Which needs [more|less] [care|time|attention|work], {a one} or {a two}?",
    "Does {a one} need [more|less] [care|time|work] than {a two}?",
    "Do {s one} need [more|less] [care|time|work] than {s two}?",
    "I wonder if {a one} is easier to look after than {a two}.",
    "My kid asks if {a one} is easier to look after than {a two}.",
    "Tell me whether {a one} is easier to look after than {a two}.",
)
CHOOSE = (
    "Should I get {a one} or {a two}?",
    "Should we get {a one} or {a two}?",
    "{a one} or {a two}?",
    "{a one} or {a two}, which should I get?",
    "{s one} or {s two}?",
    "I cannot decide between {a one} and {a two}.",
    "I can't decide between {a one} and {a two}. Can you help?",
    "Which is the better pet, {a one} or {a two}?",
    "Which is better, {a one} or {a two}?",
    "What is better, {a one} or {a two}?",
    "What is the better pet, {a one} or {a two}?",
    "Is {a one} or {a two} better for [a flat|a family|children|a beginner]?",
    "My kids want {a one}, but I would like {a two}.",
    "I am thinking of getting {a one} or {a two}.",
    "I'm thinking about getting {a one} or {a two}. What do you think?",
)
MORE_CARE = "{a more} takes more care than {a less}, for it needs {needs}."
THEN_CHOOSE = " Get the one that you have enough time for."
GETTING = (
    "I am thinking [of|about] getting {a name}.[| What should I know?| Any advice?]",
    "I'm thinking [of|about] getting {a name}.[| What should I know first?| Any tips?]",
    "I want to get {a name}.[| What should I know?| Any advice?]",
    "Should I get {a name}?",
    "I would like to have {a name}.",
    "I'd like to get {a name}.[| Any tips?]",
    "My [daughter|son|kid] wants {a name}.[| Is that a good idea?]",
)
# Said after advice on which pet to get.
NAMED = (
    *("Maybe {a name}.", "Maybe {a name}?", "{a name} maybe.", "{a name}, maybe.", "{a name}?"),
    *("What about {a name}?", "How about {a name}?", "I think {a name}.", "{a name} I think"),
    *("I would like {a name}.", "I like {s name}.", "Then {a name}.", "What does {a name} need?"),
    *("{a name} would be nice.", "And {a name}?", "{a name} then. What does it need?"),
)
NEEDS = "{a name} needs {needs}. Think first whether you have enough time, room and money."
# Rows of data/pets.table that are the young of others.
YOUNG = ("kitten", "puppy")


class PetTopic:
    """Advice about data/pets.table, other animals and plants that one may get, and the rest."""

    name = "pets"

    def __init__(self) -> None:
        self._pets = EntityTopic("pets", False)
        self._help = ScriptTopic("animal_help", 0.1)

    def thread(self, rng: Random) -> Thread:
        """One to a few exchanges."""
        roll = rng.random()
        if roll < 0.38:
            return self._pets.thread(rng)
        if roll < 0.52:
            return [self._care(rng)]
        if roll < 0.6:
            return [self._other(rng)]
        if roll < 0.66:
            return self._choice(rng)
        return self._help.thread(rng)

    def _choice(self, rng: Random) -> Thread:
        """Which pet to get, then one that is named, then what that eats."""
        about = rng.choice(("pet choice", "pet child", "pet easy"))
        found = [self._help.exchange(self._help.named(about), rng, follows=False)]
        row = rng.choice(self._pets.rows)
        form = rng.choice(NAMED)
        key = f"pets/named/{row['name']}/{form}"
        found.append(Exchange(key, expand(form, rng, row), expand(NEEDS, rng, row)))
        if rng.random() < 0.4:
            feed = section_of("pets.forms", "feed")
            form = rng.choice(feed.follow_ups)
            key = f"pets/feed/{row['name']}/~{feed.follow_ups.index(form)}"
            found.append(Exchange(key, expand(form, rng, row), expand(feed.answers[0], rng, row)))
        return found

    @staticmethod
    def _care(rng: Random) -> Exchange:
        """Which of two pets takes more care."""
        pets = [row for row in table("pets.table") if row["name"] not in YOUNG]
        one, two = rng.sample(pets, 2)
        less, more = sorted((one, two), key=pets.index)
        choose = rng.random() < 0.4
        form = rng.choice(CHOOSE if choose else EASIER)
        values: dict[str, Value] = {"one": one["name"], "two": two["name"]}
        values |= {"less": less["name"], "more": more["name"], "needs": more["needs"]}
        answer = expand(MORE_CARE + THEN_CHOOSE * choose, rng, values)
        key = f"pets/care/{one['name']} and {two['name']}/{form}"
        return Exchange(key, expand(form, rng, values), answer)

    @staticmethod
    def _other(rng: Random) -> Exchange:
        """An animal that is mostly no pet, or a plant."""
        known = {row["name"] for row in table("pets.table")}
        animals = [row for row in table("animals.table") if row["name"] not in known]
        plants = [row for row in table("plants.table") if {"care", "water"} <= row.keys()]
        plants = [row for row in plants if row["name"] != "house plant"]
        is_plant = rng.random() < 0.3
        row: Row = rng.choice(plants if is_plant else animals)
        form = rng.choice(GETTING)
        said = "{a name} needs {care}. Water it {water}." if is_plant else "{s name} {pets}."
        key = f"pets/getting/{text(row['name'])}/{form}"
        return Exchange(key, expand(form, rng, row), expand(said, rng, row))
