"""Topics without facts: greetings, who the model is, advice. Their forms are all there is."""

import re
from random import Random

from recipe.corpus.forms import (
    Section,
    framed,
    is_brief,
    names,
    one_sentence,
    quoted,
    section_of,
    sections,
)
from recipe.corpus.grammar import Value, expand
from recipe.corpus.turn import Exchange, Thread

# How a trouble may be told: what is said before it, and what is asked after it.
BEFORE = (
    *("I am new here. ", "Maybe you can help me. ", "I work a lot. ", "Hm. "),
    *("I do not know whom to ask. ", "It is a bit silly, but ", "Oh dear. "),
    *("Sorry to trouble you, but ", "I have a small problem. ", "It has been a long week. "),
    *("You know, ", "Can I tell you something? ", "To be honest, "),
)
AFTER = (
    *(" Any advice?", " Any tips?", " Any ideas?", " What should I do?", " What can I do?"),
    *(" What helps?", " Can you help me?", " Do you have a tip?", " Help!", " What now?"),
    *(" What would you do?", " Please help.", " Do you have any advice for me?"),
)
TROUBLED = ("advice", "people")
# Sections of these that tell of no trouble, or of one that no tip can mend; so do "tell ...".
GLAD = {
    *("happy", "baby", "success", "proud", "got gift", "family", "wedding", "own wedding"),
    *("birthday", "good friend", "love", "new job", "visit", "comfort", "death", "pet gone"),
    "expecting",
}
# Sections that tell of something sad, for which a tip may be asked.
SAD_NEWS = ("tell bad day", "tell mood bad", "tell unpleasant", "tell annoying", "tell lost")
# Questions that can be handed on.
ASKED = re.compile(r"(What|Why|How|Where|Which|When|Who|Do|Does|Is|Are|Can) .*\?$")
# What is asked for no tip: how much of something is right.
NO_TIP = re.compile(r"(How (many|much|long|often)|Is|Are) ")
# What is said only after an answer that asks for it.
REPLIES = {
    "yes": re.compile(r"(Is there|Would you like to (know|hear more))[^.!?]*\?$"),
    "no": re.compile(r"(Is there|Would you like|Shall)[^.!?]*\?$"),
    "well": re.compile(r"(?i:how are you|and you|how about you)[^.!?]*\?$"),
    "well and you": re.compile(r"(?i:how are you|and you|how about you)[^.!?]*\?$"),
    "not well": re.compile(r"(?i:how are you|and you|how about you)[^.!?]*\?$"),
    "another joke": re.compile(r"(words|clock|towel)!$"),
    "funny": re.compile(r"(words|clock|towel|piano)!$"),
    "slept well": re.compile(r"Did you sleep well\?$"),
}


class ScriptTopic:
    """Questions and answers of data/`name`.forms, one to four in a row.

    With `brief`, one sentence may be asked for: the first of an answer tells enough.
    """

    def __init__(self, name: str, follow_rate: float = 0.3, brief: bool = False) -> None:
        self.name = name
        self._follow_rate = follow_rate
        self._brief = brief
        self._sections = sections(f"{name}.forms")

    def thread(self, rng: Random) -> Thread:
        """One to four exchanges of different sections."""
        left = list(self._sections)
        section = _chosen([s for s in left if s.questions], rng)
        found = [self.exchange(section, rng, follows=False)]
        left.remove(section)
        if self.name == "nature" and rng.random() < 0.08:
            other = _chosen([s for s in left if s.questions], rng)
            return self._both(section, other, rng) or found
        if self.name in TROUBLED and not _is_glad(section) and rng.random() < 0.22:
            found.append(_after_tip(section, found[0], rng))
        if section.name in SAD_NEWS and rng.random() < 0.3:
            found.append(_after_tip(section, found[0], rng, "what to do"))
        while len(found) < 4 and rng.random() < self._follow_rate:
            told = found[-1].answer
            if self.name == "nature" and rng.random() < 0.3:
                found.append(self._after(section, told, rng))
                break
            fitting = [s for s in left if s.follow_ups and _follows(s, told)]
            fitting = _upon(section, fitting, rng)
            # A question is mostly answered.
            asked = [s for s in fitting if s.name in REPLIES]
            fitting = asked if asked and rng.random() < 0.6 else fitting
            if not fitting:
                break
            following = _chosen(fitting, rng)
            left.remove(following)
            made = self.exchange(following, rng, follows=True)
            # What was told is not told again.
            if not _sentences(made) & {s for before in found for s in _sentences(before)}:
                found.append(made)
                section = following
        return found

    def named(self, name: str) -> Section:
        """The section called `name`."""
        return next(section for section in self._sections if section.name == name)

    def exchange(self, section: Section, rng: Random, follows: bool) -> Exchange:
        """One exchange of `section`."""
        asked = section.follow_ups if follows and section.follow_ups else section.questions
        values: dict[str, Value] = {"person": rng.choice(names("women") + names("men"))}
        if section.clauses and rng.random() < 0.3:
            form = rng.choice(section.clauses)
            wording = f"!{section.clauses.index(form)}"
            clause = expand(form, rng, values, capital=False)
            question = framed(clause, rng, self._brief)
        else:
            form = rng.choice(asked)
            wording = f"{'~' if asked is section.follow_ups else '?'}{asked.index(form)}"
            question = expand(form, rng, values)
            if self._brief and wording[0] == "?" and ASKED.match(question) and rng.random() < 0.15:
                question = quoted(question, rng)
            if self.name in TROUBLED and not _is_glad(section) and "~" not in wording:
                question = _told(question, rng)
            if self.name in TROUBLED and rng.random() < 0.4:
                question = re.sub(r"\b(mother|father|grandmother|grandfather)\b", _homely, question)
        brief = is_brief(question)
        forms = one_sentence(section.answers) if brief else section.answers
        answer = expand(rng.choice(forms), rng, values)
        if section.additions and not brief and rng.random() < 0.4:
            added = expand(rng.choice(section.additions), rng, values)
            # What is added must neither say the same again nor ask a second question.
            if not _shared(added, answer) and not ("?" in added and "?" in answer):
                answer += " " + added
        return Exchange(f"{self.name}/{section.name}/{wording}", question, answer)

    def _both(self, one: Section, two: Section, rng: Random) -> Thread:
        """Both in one message, if both have a plain question."""
        values: dict[str, Value] = {}
        pairs = [[q for q in s.questions if ASKED.match(q) and ". " not in q] for s in (one, two)]
        if not all(pairs):
            return []
        forms = [rng.choice(asked) for asked in pairs]
        first, second = (expand(form, rng, values) for form in forms)
        joint = rng.choice((" and ", " and ", ", and ", "? And "))
        second = second[0].lower() + second[1:]
        question = first.removesuffix("?") + joint + second
        told = [expand(rng.choice(one_sentence(s.answers)), rng, values) for s in (one, two)]
        key = f"{self.name}/{one.name}/+{two.name}/{one.questions.index(forms[0])}"
        return [Exchange(key, question, " ".join(told))]

    def _after(self, section: Section, told: str, rng: Random) -> Exchange:
        """What is asked about `told` itself: to say it simply, why it is so, what else there is."""
        others = [a for a in one_sentence(section.answers) if not _shared(a, told)]
        kinds = ("simpler", "deeper", "further") if others else ("deeper", "further")
        after = section_of("frames.forms", rng.choice(kinds))
        form = rng.choice(after.follow_ups)
        if after.name == "simpler":
            answer = f"In short: {expand(others[-1], rng)}"
        else:
            answer = expand(rng.choice(after.answers), rng)
        fresh = [a for a in section.additions if not _shared(a, told) and "?" not in a]
        if after.name == "further" and fresh:
            answer = expand(rng.choice(fresh), rng)
        key = f"{self.name}/{section.name}/{after.name}/~{after.follow_ups.index(form)}"
        return Exchange(key, form, answer)


def _upon(last: Section, fitting: list[Section], rng: Random) -> list[Section]:
    """Those of `fitting` to ask after `last`; "upon X, ..." follows only X, as it says "it"."""
    linked = [s for s in fitting if s.name.startswith(f"upon {last.name},")]
    if linked and rng.random() < 0.6:
        return linked
    return [s for s in fitting if not s.name.startswith("upon ")]


def _chosen(of: list[Section], rng: Random) -> Section:
    return rng.choices(of, [section.weight for section in of])[0]


def _homely(found: re.Match[str]) -> str:
    """What most people call their parents and grandparents."""
    names_of = {"mother": "mum", "father": "dad", "grandmother": "grandma"}
    return names_of.get(found[0], "grandpa")


def _is_glad(section: Section) -> bool:
    """Whether no tip is wanted."""
    return section.name in GLAD or section.name.startswith("tell ")


def _after_tip(section: Section, tip: Exchange, rng: Random, name: str = "") -> Exchange:
    """What is said after `tip` of `section`: that of `name` or any that fits what was asked."""
    told = tip.answer
    unfit = {"what to do"} if tip.question.endswith("?") else set()
    unfit |= {"why"} if NO_TIP.match(tip.question) else set()
    fit = [s for s in sections("tips.forms") if s.name not in unfit]
    said = section_of("tips.forms", name) if name else rng.choice(fit)
    form = rng.choice(said.questions)
    answer = expand(rng.choice(said.answers), rng)
    others = [expand(other, rng) for other in section.answers if "{" not in other]
    others = [other for other in others if not _shared(other, told) and "?" not in other[:-1]]
    if said.name == "more" and others:
        answer = rng.choice(others)
    key = f"tips/{said.name}/{section.name}/{said.questions.index(form)}"
    return Exchange(key, expand(form, rng), answer)


def _sentences(of: Exchange) -> set[str]:
    return set(re.split(r"(?<=[.!?]) ", of.answer))


def _follows(section: Section, answer: str) -> bool:
    """Whether what `section` says fits after `answer`."""
    return section.name not in REPLIES or bool(REPLIES[section.name].search(answer))


def _told(question: str, rng: Random) -> str:
    """`question`, where it tells of a trouble, as one who wants advice may tell it."""
    if not re.match(r"(I|My|Our|We|Nobody|It|There|Someone|Everything) .*\.$", question):
        return question
    if rng.random() < 0.4:
        question += rng.choice(AFTER)
    if rng.random() < 0.2:
        before = rng.choice(BEFORE)
        keeps = before.endswith(". ") or before.endswith("? ") or question.startswith("I ")
        question = before + (question if keeps else question[0].lower() + question[1:])
    return question


def _shared(added: str, answer: str) -> bool:
    """Whether both have the same four words in a row, or all of `added` is in `answer`."""
    words = added.lower().rstrip(".!?").split()
    runs = [" ".join(words[i : i + 4]) for i in range(max(1, len(words) - 3))]
    return any(run in answer.lower() for run in runs)
