"""Topics that are tables of facts: animals, places, planets and the like."""

from dataclasses import dataclass, field
from random import Random

from recipe.corpus.forms import (
    Row,
    Section,
    framed,
    is_brief,
    items,
    one_sentence,
    sections,
    table,
    text,
)
from recipe.corpus.grammar import expand, plural, slots
from recipe.corpus.turn import Exchange, Thread

# Sections whose answers are put together from several aspects.
COMPOSED = ("about", "like", "more")
# Sections whose answers one sentence cannot give.
LONG = ("steps",)
# What shows that an answer names what it is about.
NAMING = {"name", "names", "facts"}
WHY = ("Why?", "Why is that?", "And why?", "Why is that so?", "But why?", "Do you know why?")
BECAUSE = (
    "Because {reason}.",
    "That is because {reason}.",
    "[It is so|This is so] because {reason}.",
)
NO_REASON = (
    "I do not know why. I am only a tiny model.",
    "I do not know the reason, sorry.",
    "I do not know why that is so. I know only simple facts.",
    "Sorry, I never learned why.",
)
DECLINED = (
    "I do not know {clause}.",
    "I do not know {clause}, sorry.",
    "Sorry, I do not know {clause}.",
    "I am sorry, I do not know {clause}. I am only a tiny model.",
    "I never learned {clause}.",
    "I cannot tell you {clause}. I know only simple facts.",
)
INSTEAD = (
    "But I can tell you {known}.",
    "But I know {known}.",
    "Ask me {known} instead.",
    "You can ask me {known}.",
)


@dataclass
class _Talk:
    """What is spoken of: an entity, the aspects and facts said of it, the fact said last."""

    row: Row
    said: set[str] = field(default_factory=set)
    fact: str = ""


class EntityTopic:
    """Questions about the rows of data/`name`.table in the forms of data/`name`.forms.

    The section "about" asks for several sentences, "like" only names the entity and gets the same,
    "more" asks for those not yet said; every other section is one aspect. `plural_subject` says
    whether an entity is spoken of as "they". What data/near.table asks of them is declined.
    """

    def __init__(self, name: str, plural_subject: bool) -> None:
        self.name = name
        self._plural = plural_subject
        self.rows = tuple(_with_names(row) for row in table(f"{name}.table"))
        self._sections = {section.name: section for section in sections(f"{name}.forms")}
        self._aspects = [s for s in self._sections.values() if s.name not in COMPOSED]
        self._near = [row for row in table("near.table") if row["topic"] == name]
        self._reasons = {text(row["fact"]): text(row["reason"]) for row in table("reasons.table")}

    def thread(self, rng: Random) -> Thread:
        """One to five exchanges about one entity, or two."""
        talk = _Talk(rng.choice(self.rows))
        found = [self._first(talk, rng)]
        while len(found) < 5 and rng.random() < 0.45:
            if rng.random() < 0.25:
                made, talk = self._other(talk, found[-1], rng)
            elif talk.fact and (talk.fact in self._reasons or rng.random() < 0.3):
                made = self._why(talk, found[-1], rng)
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
        if follows and roll < 0.2:
            return self._more(talk, rng)
        if not follows and roll < 0.18:
            return self._about(talk, rng)
        row = talk.row
        open_aspects = [
            s
            for s in self._aspects
            if s.name not in talk.said
            and _usable(s.follow_ups if follows else s.questions, row)
            and _usable(s.answers, row)
        ]
        if not open_aspects:
            return None
        section = rng.choice(open_aspects)
        # Right after an answer a thing may still be named; it mostly is not.
        named = not follows or (rng.random() < 0.2 and bool(section.questions))
        asked = section.questions if named else section.follow_ups
        question, key = self._question(section, asked, named, row, rng)
        if section.name != "fact":
            talk.said.add(section.name)
        forms = _usable(section.answers, row)
        brief = is_brief(question)
        answer = self._say(rng.choice(one_sentence(forms) if brief else forms), talk, rng, True)
        if section.additions and not brief and rng.random() < 0.2:
            answer = " ".join([answer, *self._additions(talk, rng, 1)])
            talk.fact = ""
        return Exchange(key, question, answer)

    def _other(self, talk: _Talk, last: Exchange, rng: Random) -> tuple[Exchange | None, _Talk]:
        """Of another entity the same as of this one in `last`, or anything."""
        talk = _Talk(rng.choice([row for row in self.rows if row is not talk.row]))
        section = self._sections.get(last.key.split("/")[1])
        usable = _usable(section.answers, talk.row) if section else []
        if section is None or not usable or not section.others or rng.random() < 0.25:
            return self._first(talk, rng), talk
        form = rng.choice(section.others)
        talk.said.add(section.name)
        question = expand(form, rng, talk.row, self._subject(talk.row, True))
        key = f"{self.name}/{section.name}/{talk.row['name']}/>{section.others.index(form)}"
        return Exchange(key, question, self._say(rng.choice(usable), talk, rng, True)), talk

    def _why(self, talk: _Talk, last: Exchange, rng: Random) -> Exchange:
        reason = self._reasons.get(talk.fact, "")
        form = rng.choice(WHY)
        answer = rng.choice(BECAUSE if reason else NO_REASON)
        values = {"reason": reason.replace("@", "they" if self._plural else "it")}
        talk.fact = ""
        return Exchange(f"{last.key}/why/{WHY.index(form)}", form, expand(answer, rng, values))

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
        answer = expand(rng.choice(DECLINED), rng, {"clause": clause})
        known = [s.clauses for s in self._aspects if s.name not in talk.said]
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
        opening = self._say(rng.choice(_usable(section.answers, talk.row)), talk, rng, True)
        count = rng.choice((2, 3, 3, 4, 4, 5, 6))
        if "short" in question or "a bit" in question or "a few" in question:
            count = rng.choice((2, 3))
        elif "long text" in question or "everything" in question:
            count = 9
        sentences = [opening, *self._additions(talk, rng, count)]
        talk.fact = ""
        return Exchange(key, question, " ".join(sentences))

    def _more(self, talk: _Talk, rng: Random) -> Exchange | None:
        """Sentences about what is not yet said; the first stands alone and names the entity."""
        section = self._sections["more"]
        open_aspects = [s for s in self._aspects if s.name not in talk.said and s.additions]
        forms = [(s, _naming(s, talk.row)) for s in open_aspects]
        forms = [(s, found) for s, found in forms if found]
        if not forms:
            return None
        first, found = rng.choice(forms)
        sentences = [self._say(rng.choice(found), talk, rng, True)]
        if first.name != "fact":
            talk.said.add(first.name)
        question, key = self._question(section, section.follow_ups, False, talk.row, rng)
        if rng.random() < 0.4:
            sentences.insert(0, expand(rng.choice(section.answers), rng))
        added = self._additions(talk, rng, rng.choice((0, 1, 1, 2, 3)))
        if added:
            talk.fact = ""
        return Exchange(key, question, " ".join([*sentences, *added]))

    def _additions(self, talk: _Talk, rng: Random, count: int) -> list[str]:
        """Up to `count` sentences about aspects not yet said, which then are."""
        sentences: list[str] = []
        also = 0
        # Facts may be told in two places.
        open_aspects = [*self._aspects, *(s for s in self._aspects if s.name == "fact")]
        for section in rng.sample(open_aspects, len(open_aspects)):
            fitting = _usable(section.additions, talk.row)
            if len(sentences) < count and section.name not in talk.said and fitting:
                form = rng.choice(fitting)
                if section.name == "fact" and not also and rng.random() < 0.2:
                    form, also = f"Also, {form}", 1
                sentences.append(self._say(form, talk, rng, False))
                if section.name != "fact":
                    talk.said.add(section.name)
        return sentences

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

    def _say(self, form: str, talk: _Talk, rng: Random, named: bool) -> str:
        """The text of `form`; the aspects whose facts it tells are said now."""
        told = slots(form) - {"name", "names", "verb", "do"}
        if "facts" in told:
            return self._say_fact(form, talk, rng, named)
        talk.said.update(s.name for s in self._aspects if any(told & slots(a) for a in s.additions))
        return expand(form, rng, talk.row, self._subject(talk.row, named))

    def _say_fact(self, form: str, talk: _Talk, rng: Random, named: bool) -> str:
        """`form` with a fact not yet told; the aspect is said when all are."""
        facts = items(talk.row["facts"])
        left = [fact for fact in facts if fact not in talk.said] or list(facts)
        fact = rng.choice(left)
        talk.fact = fact
        talk.said.add(fact)
        if len(left) == 1:
            talk.said.add("fact")
        if fact.startswith("@"):
            fact = self._subject(talk.row, named) + fact[1:]
        values: Row = {**talk.row, "facts": fact}
        return expand(form, rng, values, self._subject(talk.row, named=True))

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


def _with_names(row: Row) -> Row:
    return {"names": plural(text(row["name"])), **row}
