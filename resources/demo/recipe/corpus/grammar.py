"""English in small: plurals, articles, lists, and templates with choices and slots.

A template holds choices, `[one|another|]`, which nest, and slots, `{name}`. A slot may carry a
word before its name that says how to write the value: `{a name}` with its article, `{s name}` in
the plural, `{one foods}` a member of a list, `{or foods}` the list joined with "or". A list is
joined with "and", in its own order: in another each time, a small model would name one thing twice.
`@` inside a value stands for what the text is about.
"""

import re
from collections.abc import Mapping, Sequence
from random import Random

Value = str | tuple[str, ...]

IRREGULAR = {
    **{"mouse": "mice", "goose": "geese", "foot": "feet", "tooth": "teeth", "man": "men"},
    **{"woman": "women", "child": "children", "person": "people", "ox": "oxen", "leaf": "leaves"},
    **{"knife": "knives", "wolf": "wolves", "shelf": "shelves", "loaf": "loaves", "life": "lives"},
    **{"calf": "calves", "half": "halves", "scarf": "scarves", "thief": "thieves", "wife": "wives"},
    **{"elf": "elves", "potato": "potatoes", "tomato": "tomatoes", "hero": "heroes"},
    **{"echo": "echoes", "cactus": "cacti", "sheep": "sheep", "trout": "trout", "deer": "deer"},
    **{"moose": "moose", "salmon": "salmon", "reindeer": "reindeer", "bison": "bison"},
    **{"mango": "mangoes", "volcano": "volcanoes", "hoof": "hooves", "squid": "squid"},
    **{"quiz": "quizzes", "crisis": "crises", "oasis": "oases", "fungus": "fungi"},
    **{"louse": "lice", "die": "dice", "stomach": "stomachs", "mosquito": "mosquitoes"},
    **{"buffalo": "buffaloes", "tornado": "tornadoes", "snowman": "snowmen"},
    **{"policeman": "policemen", "fireman": "firemen", "fisherman": "fishermen"},
    **{"postman": "postmen", "grandchild": "grandchildren", "self": "selves"},
    **{"aircraft": "aircraft", "shrimp": "shrimp", "species": "species", "series": "series"},
    **{"medium": "media"},
}
SILENT_H = ("hour", "honest", "honour", "heir")
YOU_SOUND = ("uni", "use", "usu", "eu", "one", "ukulele")

_SLOT = re.compile(r"\{(?:(\w+) )?(\w+)\}")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")


def plural(noun: str) -> str:
    """The plural of a noun; of a compound, that of its head: pieces of wood, polar bears."""
    if found := re.search(r" (of|to|for|from|that) ", noun):
        return plural(noun[: found.start()]) + noun[found.start() :]
    head, _, last = noun.rpartition(" ")
    if last in IRREGULAR:
        made = IRREGULAR[last]
    elif last.endswith("fish"):
        made = last
    elif re.search(r"(s|x|z|ch|sh)$", last):
        made = last + "es"
    elif re.search(r"[^aeiou]y$", last):
        made = last[:-1] + "ies"
    else:
        made = last + "s"
    return f"{head} {made}" if head else made


def article(phrase: str) -> str:
    """ "a" or "an", by sound."""
    word = phrase.lower()
    if word.startswith(SILENT_H):
        return "an"
    return "an" if word[0] in "aeiou" and not word.startswith(YOU_SOUND) else "a"


def join(items: Sequence[str], word: str = "and") -> str:
    """ "a", "a and b", "a, b and c"."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


def capitalise(text: str) -> str:
    """`text` with a capital at the start of each sentence and line."""
    return re.sub(r"(^|[.!?] |\n)([a-z])", lambda m: m[1] + m[2].upper(), text)


def slots(template: str) -> set[str]:
    """Names of the slots that `template` has."""
    return {match[2] for match in _SLOT.finditer(template)}


def expand(
    template: str,
    rng: Random,
    values: Mapping[str, Value] | None = None,
    subject: str = "it",
    capital: bool = True,
) -> str:
    """One text that `template` stands for. `subject` replaces `@`, and as an object `@@`.

    It begins with a capital, as each of its sentences does, unless not `capital`.
    Raises KeyError for a slot without a value.
    """
    known = values or {}

    def filled(match: re.Match[str]) -> str:
        how, value = match[1], known[match[2]]
        if isinstance(value, tuple):
            if how == "one":
                return rng.choice(value)
            return join(value, "or" if how == "or" else "and")
        if how == "a":
            return f"{article(value)} {value}"
        if how == "s":
            return plural(value)
        return value

    text = _SLOT.sub(filled, template) if "{" in template else template
    while "[" in text:
        text = _CHOICE.sub(lambda m: rng.choice(m[1].split("|")), text)
    text = text.replace("@@", "them" if subject == "they" else subject).replace("@", subject)
    text = re.sub(r" +", " ", text).strip()
    text = re.sub(r" ([.,!?])", r"\1", text).replace("\\n", "\n")
    return capitalise(text) if capital else text
