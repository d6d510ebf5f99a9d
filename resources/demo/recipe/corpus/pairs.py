"""Two things asked in one message: two aspects of one thing, or one aspect of two things."""

import re
from random import Random

from recipe.corpus.forms import Row, Section, text
from recipe.corpus.grammar import expand, slots

# How a question begins that another can be joined to.
_ASKING = re.compile(
    r"(And )?((In|At|To|On|For) )?(what|where|when|how|who|which|why|do|does|are|is|can)\b"
    r"(?! about)",
    re.IGNORECASE,
)
# Where a question names what it is about, and a pronoun may stand instead.
_SUBJECT = re.compile(r"\b(do|does|are|is|can|should I water) \{(a name|names|name)\}(?=[ ?])")
_OBJECT = re.compile(r"\b(they|their|have|are|do)\b", re.IGNORECASE)
# How many times as often as others an aspect is asked about.
OFTEN = {
    **{"fact": 4, "kind": 2, "home": 3, "food": 4, "life": 2},
    **{"use": 4, "extra": 3, "capital": 3, "known": 4},
    **{"country": 3, "continent": 2, "foods": 2, "eat": 2, "trip": 2, "see": 2},
}
_JOINED = (" and ", " and ", " and ", ", and ", "? And ", "? ")


def asks_plainly(form: str) -> bool:
    """Whether `form` is one question and no more."""
    asks = _ASKING.match(form) and form.endswith("?") and form.count("?") == 1
    return bool(asks) and not any(mark in form for mark in (":", ". ", "[", ", "))


def firsts(section: Section, row: Row) -> list[str]:
    """Questions of `section` that another can be joined to."""
    return [f for f in section.questions if asks_plainly(f) and slots(f) <= row.keys()]


def seconds(section: Section, row: Row, subject: str) -> list[str]:
    """Questions of `section` that call what was just named `subject`, "it" or "they"."""
    found = []
    for form in section.follow_ups:
        if not asks_plainly(form) or not slots(form) <= row.keys():
            continue
        names_it = rf"\b({subject}|{'them|their' if subject == 'they' else 'its'})\b"
        is_place = subject == "it" and re.search(r"\w (?<!is )(?<!are )there\?$", form)
        if is_place or re.search(names_it, form):
            found.append(form.removeprefix("And "))
        elif subject == "it" and " them" in form and not _OBJECT.search(form):
            found.append(form.replace(" them", " it"))
    for form in section.questions:
        several = "{names}" in form
        named = _SUBJECT.search(form)
        if not named or not asks_plainly(form) or several != (subject == "they"):
            continue
        if re.match(r"What(.s| is| are) \{", form):
            continue
        form = _SUBJECT.sub(rf"\1 {subject}", form)
        if slots(form) <= row.keys() - {"name", "names", "short"}:
            found.append(form)
    return [form[0].lower() + form[1:] for form in found]


def joined(first: str, second: str, rng: Random) -> str:
    """One message that asks both."""
    how = rng.choice(_JOINED)
    if how == "? ":
        second = second[0].upper() + second[1:]
    elif how == "? And ":
        second = second.removeprefix("and ")
    return first.removesuffix("?") + how + second


def of_both(section: Section, one: Row, two: Row, rng: Random) -> str:
    """A question of `section` that asks about two, "" if there is none."""
    forms = []
    for form in firsts(section, one):
        if re.search(r"\b(do|are) \{names\}", form):
            forms.append(form.replace("{names}", f"{text(one['names'])} and {text(two['names'])}"))
        elif re.search(r"\b(of|in) \{name\}", form):
            forms.append(form.replace("{name}", f"{text(one['name'])} and {text(two['name'])}"))
    return expand(rng.choice(forms), rng, one) if forms else ""


def some(found: list[Section], count: int, rng: Random) -> list[Section]:
    """`count` of the sections `found`, mostly those that are asked about often."""
    left, chosen = list(found), []
    for _ in range(count):
        chosen.append(rng.choices(left, [OFTEN.get(s.name, 1) for s in left])[0])
        left.remove(chosen[-1])
    return chosen
