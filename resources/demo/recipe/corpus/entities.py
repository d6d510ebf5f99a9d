"""Topics that are tables of facts: animals, places, planets and the like."""

import re
from dataclasses import dataclass, field
from random import Random

from recipe.corpus.asked_more import more_asked, rows_of, told_of
from recipe.corpus.entity_replies import (
    BECAUSE,
    DECLINED,
    INSTEAD,
    NOTHING_MORE,
    REQUESTS,
    WHY,
)
from recipe.corpus.forms import (
    Row,
    Section,
    framed,
    is_brief,
    items,
    one_sentence,
    section_of,
    sections,
    table,
    text,
)
from recipe.corpus.grammar import expand, slots
from recipe.corpus.order import in_order
from recipe.corpus.pairs import firsts, joined, of_both, seconds, some
from recipe.corpus.turn import Exchange, Thread

# Sections whose answers are put together from several aspects.
COMPOSED = ("about", "like", "more")
# Sections whose answers one sentence cannot give.
LONG = ("steps",)
# Sections that are not asked about together with another.
ALONE = (
    *(*LONG, "one", "fact", "sick", "things", "sort", "has_air", "been", "trip", "pack"),
    *("first", "keeping"),
)
# What shows that an answer names what it is about.
NAMING = {"name", "names", "facts"}


@dataclass
class _Talk:
    """What is spoken of: an entity, the aspects and facts said of it, the fact said last."""

    row: Row
    said: set[str] = field(default_factory=set)
    # The farthest place, in the order of telling, of what was said.
    reached: int = -1
    fact: str = ""


# What shows that a sentence takes up what was spoken of, other than the young.
_THEM = re.compile(r"\b(they|them|their(?! young))\b", re.IGNORECASE)
# An aspect, and where that is "fact", one of the facts.
_Part = tuple[Section, str]


class EntityTopic:
    """Questions about the rows of data/`name`.table in the forms of data/`name`.forms.

    The section "about" asks for several sentences, "like" only names the entity and gets the same,
    "more" asks for those not yet said; every other section is one aspect. Aspects are told in the
    order of their sections, facts in that of the table. `plural_subject` says whether an entity is
    spoken of as "they". What data/near.table asks of them is declined.
    """

    def __init__(self, name: str, plural_subject: bool) -> None:
        self.name = name
        self._plural = plural_subject
        self.rows = rows_of(name)
        self._sections = {section.name: section for section in sections(f"{name}.forms")}
        self._aspects = [s for s in self._sections.values() if s.name not in COMPOSED]
        self._near = [row for row in table("near.table") if row["topic"] == name]
        self._reasons = {text(row["fact"]): text(row["reason"]) for row in table("reasons.table")}

    def thread(self, rng: Random) -> Thread:
        """One to five exchanges about one entity, or two."""
        talk = _Talk(rng.choice(self.rows))
        if found := more_asked(self.name, rng):
            if not (told := told_of(found[-1].answer, self.rows)):
                return found
            talk = _Talk(told, {"known"})
        else:
            found = [self._first(talk, rng)]
        # After a question about two, "they" would be both.
        while len(found) < 5 and not found[-1].key.endswith("/both") and rng.random() < 0.5:
            if rng.random() < 0.25:
                made, talk = self._other(talk, found[-1], rng)
            elif self._can_ask_why(talk.fact, rng):
                made = self._why(talk, found[-1], rng)
            elif found[-1].key.split("/")[1] in COMPOSED and rng.random() < 0.4:
                made = self._more(talk, rng)
            elif self._near and "near" not in talk.said and rng.random() < 0.1:
                made = self._declined(talk, rng, follows=True)
            else:
                made = self._exchange(talk, rng, follows=True)
            if made is None:
                break
            found.append(made)
        return found

    def thread_about(self, rng: Random) -> Thread:
        """One exchange that tells several things about an entity."""
        return [self._about(_Talk(rng.choice(self.rows)), rng)]

    def _first(self, talk: _Talk, rng: Random) -> Exchange:
        if self._near and rng.random() < 0.07:
            return self._declined(talk, rng, follows=False)
        return self._exchange(talk, rng, follows=False) or self._about(talk, rng)

    def _exchange(self, talk: _Talk, rng: Random, follows: bool) -> Exchange | None:
        talk.fact = ""
        roll = rng.random()
        if follows and roll < 0.25:
            return self._more(talk, rng)
        if not follows and roll < 0.18:
            return self._about(talk, rng)
        if roll > 0.86 and (made := self._two(talk, rng, follows)):
            return made
        row = talk.row
        open_aspects = [
            s
            for s in self._aspects
            if not self._all_said(s, talk)
            and _usable(s.follow_ups if follows else s.questions, row)
            and _usable(s.answers, row)
        ]
        if not open_aspects:
            return None
        section = some(open_aspects, 1, rng)[0]
        # Right after an answer a thing may still be named; it mostly is not.
        named = not follows or (rng.random() < 0.2 and bool(section.questions))
        asked = section.questions if named else section.follow_ups
        question, key = self._question(section, asked, named, row, rng)
        forms = _usable(section.answers, row)
        brief = is_brief(question)
        form = rng.choice(one_sentence(forms) if brief else forms)
        answer = self._say((section, self._fact(section, talk, rng)), form, talk, rng, True)
        # "They" or "it" in what is added must be what the answer speaks of.
        plain = slots(form) & NAMING and not self._of_one(form)
        if section.additions and plain and not brief and rng.random() < 0.2:
            answer = " ".join([answer, *self._additions(answer, talk, rng, 1)])
        return Exchange(key, question, answer)

    def _two(self, talk: _Talk, rng: Random, follows: bool) -> Exchange | None:
        """Two aspects asked about at once, told in that order; at times one of two entities."""
        row, they = talk.row, "they" if self._plural else "it"
        fit = [s for s in self._aspects if s.name not in ALONE and s.name not in talk.said]
        fit = [s for s in fit if self._opening(s, talk) and seconds(s, row, they)]
        if len(fit) < 2:
            return None
        one, two = some(fit, 2, rng)
        if not follows and rng.random() < 0.25:
            return self._of_two(one, talk, rng)
        starts = seconds(one, row, they) if follows else firsts(one, row)
        clauses = [[f for f in _usable(s.clauses, row) if "@" in f] for s in (one, two)]
        if all(clauses) and rng.random() < 0.3:
            asked = rng.choice(clauses[0]) + " and "
            clause = expand(asked, rng, row, self._subject(row, not follows), capital=False)
            clause += " " + expand(rng.choice(clauses[1]), rng, row, they, capital=False)
            question = framed(clause, rng, brief=False)
        elif starts:
            start = rng.choice(starts)
            single = not follows and "{names}" not in start
            ends = seconds(two, row, "it" if single else they)
            if not ends:
                return None
            ask = joined(start, rng.choice(ends), rng)
            question = expand(ask, rng, row, they)
        else:
            return None
        opening = [f for f in self._opening(one, talk) if not self._told(f) - {one.name}]
        opening = [f for f in opening if not self._of_one(f)]
        plain = [f for f in one_sentence(opening) if two.name not in self._told(f)]
        ends = _usable(two.additions, row) or self._opening(two, talk)
        if not plain or not ends:
            return None
        answer = self._say((one, ""), rng.choice(plain), talk, rng, True)
        answer += " " + self._say((two, ""), rng.choice(ends), talk, rng, not two.additions)
        key = f"{self.name}/{one.name}+{two.name}/{row['name']}/{'~' if follows else '?'}"
        return Exchange(key, question, answer)

    def _of_two(self, section: Section, talk: _Talk, rng: Random) -> Exchange | None:
        """The same asked of two entities; what is said later is about the second."""
        other = _Talk(rng.choice([row for row in self.rows if row is not talk.row]))
        forms = [f for f in self._opening(section, talk) if f in self._opening(section, other)]
        forms = [f for f in forms if self._told(f) <= {section.name}]
        question = of_both(section, talk.row, other.row, rng)
        if not forms or not question:
            return None
        form = rng.choice(forms)
        answer = " ".join(self._say((section, ""), form, of, rng, True) for of in (talk, other))
        key = f"{self.name}/{section.name}+/{talk.row['name']} and {other.row['name']}/both"
        talk.row, talk.said, talk.reached = other.row, other.said, other.reached
        return Exchange(key, question, answer)

    def _other(self, talk: _Talk, last: Exchange, rng: Random) -> tuple[Exchange | None, _Talk]:
        """Of another entity the same as of this one in `last`, or anything."""
        talk = _Talk(rng.choice([row for row in self.rows if row is not talk.row]))
        section = self._sections.get(last.key.split("/")[1])
        usable = _usable(section.answers, talk.row) if section else []
        if section is None or not usable or not section.others or rng.random() < 0.25:
            return self._first(talk, rng), talk
        form = rng.choice(section.others)
        question = expand(form, rng, talk.row, self._subject(talk.row, True))
        key = f"{self.name}/{section.name}/{talk.row['name']}/>{section.others.index(form)}"
        told = (section, self._fact(section, talk, rng))
        return Exchange(key, question, self._say(told, rng.choice(usable), talk, rng, True)), talk

    def _why(self, talk: _Talk, last: Exchange, rng: Random) -> Exchange:
        """The fact again, with its reason."""
        reason = self._reasons.get(talk.fact, "")
        form = rng.choice(WHY)
        fact = talk.fact.replace("@", self._subject(talk.row, named=True))
        values = {"reason": reason.replace("@", "they" if self._plural else "it"), "fact": fact}
        talk.fact = ""
        answer = expand(rng.choice(BECAUSE if reason else DECLINED), rng, values)
        return Exchange(f"{last.key}/why/{WHY.index(form)}", form, answer)

    def _can_ask_why(self, fact: str, rng: Random) -> bool:
        """Whether `fact` is one, has its reason not in itself, and chance allows."""
        given = not fact or "because" in fact
        return not given and rng.random() < (0.6 if fact in self._reasons else 0.2)

    def _declined(self, talk: _Talk, rng: Random, follows: bool) -> Exchange:
        """What is near the topic, yet not known; once of an entity."""
        talk.fact = ""
        talk.said.add("near")
        row = talk.row
        asked = rng.choice([near for near in self._near if not follows or "follow" in near])
        clause = expand(text(asked["clause"]), rng, row, self._subject(row, True), capital=False)
        wording = "~" if follows else "?"
        if follows:
            question = expand(text(asked["follow"]), rng, row)
        elif rng.random() < 0.3:
            question, wording = framed(clause, rng, brief=False), "!"
        else:
            question = expand(text(asked["asked"]), rng, row)
        answer = expand(rng.choice(DECLINED), rng)
        known = [s.clauses for s in self._aspects if not self._all_said(s, talk)]
        known = [usable for clauses in known if (usable := _usable(clauses, row))]
        if known and rng.random() < 0.6:
            subject = self._subject(row, named=True)
            told = expand(rng.choice(rng.choice(known)), rng, row, subject, capital=False)
            answer += " " + expand(rng.choice(INSTEAD), rng, {"known": told})
        key = f"{self.name}/near/{row['name']}/{wording}{self._near.index(asked)}"
        return Exchange(key, question, answer)

    def _about(self, talk: _Talk, rng: Random) -> Exchange:
        likes = "like" in self._sections and rng.random() < 0.2
        section = self._sections["like" if likes else "about"]
        question, key = self._question(section, section.questions, True, talk.row, rng)
        forms = _usable(section.answers, talk.row)
        if not likes and not question.startswith(REQUESTS):
            forms = [form for form in forms if "]!" not in form]
        opening = self._say((section, ""), rng.choice(forms), talk, rng, True)
        count = rng.choice((2, 3, 3, 4, 4, 5, 6))
        if "short" in question or "a bit" in question or "a few" in question:
            count = rng.choice((2, 3))
        elif "long text" in question or "everything" in question:
            count = 9
        return Exchange(
            key, question, " ".join([opening, *self._additions(opening, talk, rng, count)])
        )

    def _more(self, talk: _Talk, rng: Random) -> Exchange | None:
        """Sentences about what is not yet said; the first stands alone and names the entity.

        It goes on right behind what was said last, from the start only where that was the end
        of all and nothing else was said: what was told need not be remembered.
        """
        section = self._sections["more"]
        asked = section.follow_ups + section_of("frames.forms", "more").follow_ups
        question, key = self._question(section, asked, False, talk.row, rng)
        if not self._left(talk) and len(talk.said) == 1:
            talk.reached = -1
        left = [part for part in self._left(talk) if self._opening(part[0], talk)]
        if not left:
            talk.fact = ""
            return Exchange(key, question, rng.choice(NOTHING_MORE))
        form = rng.choice(self._opening(left[0][0], talk))
        answer = self._say(left[0], form, talk, rng, True)
        if rng.random() < 0.3 and not question.startswith("Is "):
            answer = f"{expand(rng.choice(section.answers), rng)} {answer}"
        added = self._additions(answer, talk, rng, rng.choice((0, 1, 1, 2)), go_on=True)
        return Exchange(key, question, " ".join([answer, *added]))

    def _additions(
        self, before: str, talk: _Talk, rng: Random, count: int, go_on: bool = False
    ) -> list[str]:
        """Up to `count` sentences after `before` of what is left, the very next if `go_on`."""
        sentences: list[str] = []
        left = self._left(talk)
        for part in left[:count] if go_on else in_order(left, count, rng):
            form = rng.choice(_usable(part[0].additions, talk.row))
            # In a fact "they" follows only a sentence that has spoken of "them".
            named = bool(part[1]) and not (self._plural and _THEM.search(before))
            before = self._say(part, form, talk, rng, named)
            sentences.append(before)
        return sentences

    def _order(self, row: Row) -> list[_Part]:
        """What can be told of `row`, in the order of telling."""
        parts: list[_Part] = []
        for section in self._aspects:
            if _usable(section.additions, row):
                told = items(row["facts"]) if section.name == "fact" else ("",)
                parts += [(section, fact) for fact in told]
        return parts

    def _left(self, talk: _Talk) -> list[_Part]:
        """What comes behind all that was said of an entity and was not said."""
        behind = self._order(talk.row)[talk.reached + 1 :]
        return [(s, fact) for s, fact in behind if (fact or s.name) not in talk.said]

    def _fact(self, section: Section, talk: _Talk, rng: Random) -> str:
        """If `section` is about facts, one not yet said, if there is one behind those said."""
        if section.name != "fact":
            return ""
        facts = items(talk.row["facts"])
        behind = [fact for s, fact in self._left(talk) if s is section]
        left = [fact for fact in facts if fact not in talk.said]
        return in_order(behind or left or facts, 1, rng)[0]

    @staticmethod
    def _all_said(section: Section, talk: _Talk) -> bool:
        if section.name == "fact":
            return talk.said.issuperset(items(talk.row.get("facts", "")))
        return section.name in talk.said

    def _told(self, form: str) -> set[str]:
        """The aspects that `form` tells something of."""
        told = slots(form) - {"name", "names", "verb", "do", "facts"}
        return {s.name for s in self._aspects if any(told & slots(a) for a in s.additions)}

    def _opening(self, section: Section, talk: _Talk) -> list[str]:
        """Forms of `section` that say by themselves what they are about, and nothing said."""
        if section.name in LONG:
            return section.additions
        fresh = [f for f in _naming(section, talk.row) if not self._told(f) & talk.said]
        return [f for f in fresh if not self._of_one(f)] or fresh

    def _of_one(self, form: str) -> bool:
        """Whether `form` speaks of one where "they" would follow."""
        return self._plural and "name" in slots(form)

    def _question(
        self, section: Section, asked: list[str], named: bool, row: Row, rng: Random
    ) -> tuple[str, str]:
        subject = self._subject(row, named)
        clauses = _usable(section.clauses, row)
        if clauses and rng.random() < 0.35:
            form = rng.choice(clauses)
            wording = f"!{'?' if named else '~'}{section.clauses.index(form)}"
            clause = expand(form, rng, row, subject, capital=False)
            question = framed(clause, rng, brief=section.name not in LONG)
        else:
            form = rng.choice(_usable(asked, row))
            wording = f"{'?' if named else '~'}{asked.index(form)}"
            question = expand(form, rng, row, subject)
        return question, f"{self.name}/{section.name}/{row['name']}/{wording}"

    def _say(self, part: _Part, form: str, talk: _Talk, rng: Random, named: bool) -> str:
        """The text of `form`, which tells `part`; all that it tells is said now."""
        section, fact = part
        talk.fact = fact
        told = {fact or section.name} | self._told(form)
        talk.said |= told
        places = enumerate(self._order(talk.row))
        talk.reached = max([talk.reached, *(i for i, (s, f) in places if (f or s.name) in told)])
        subject = self._subject(talk.row, named)
        if fact:
            if fact.startswith("@"):
                fact = subject + fact[1:]
            subject = self._subject(talk.row, named=True)
        return expand(form, rng, {**talk.row, "facts": fact}, subject)

    def _subject(self, row: Row, named: bool) -> str:
        if not named:
            return "they" if self._plural else "it"
        return text(row["names" if self._plural else "name"])


def _usable(forms: list[str], row: Row) -> list[str]:
    return [form for form in forms if slots(form) <= row.keys()]


def _naming(section: Section, row: Row) -> list[str]:
    """Answers of `section` that say by themselves what they are about."""
    return [
        form
        for form in _usable(section.answers, row)
        if slots(form) & NAMING and "?" not in form and not form.startswith(("Yes", "No", "["))
    ]
