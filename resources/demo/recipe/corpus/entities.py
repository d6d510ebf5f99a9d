"""Topics that are tables of facts: animals, places, planets and the like."""

from random import Random

from recipe.corpus.forms import Row, Section, sections, table
from recipe.corpus.grammar import Value, expand, plural, slots
from recipe.corpus.turn import Exchange, Thread

# Sections whose answers are put together from several aspects.
COMPOSED = ("about", "like", "more")


class EntityTopic:
    """Questions about the rows of data/`name`.table in the forms of data/`name`.forms.

    The section "about" asks for several sentences, "like" only names the entity and gets the same,
    "more" asks for those not yet said; every other section is one aspect. `plural_subject` says
    whether an entity is spoken of as "they".
    """

    def __init__(self, name: str, plural_subject: bool) -> None:
        self.name = name
        self._plural = plural_subject
        self.rows = tuple(self._with_names(row) for row in table(f"{name}.table"))
        self._sections = {section.name: section for section in sections(f"{name}.forms")}
        self._aspects = [s for s in self._sections.values() if s.name not in COMPOSED]

    @staticmethod
    def _with_names(row: Row) -> Row:
        name = row["name"]
        assert isinstance(name, str)
        return {"names": plural(name), **row}

    def thread(self, rng: Random) -> Thread:
        """One to four exchanges about one entity, or two."""
        row = rng.choice(self.rows)
        said: set[str] = set()
        found = [self._exchange(row, rng, said, follows=False)]
        while len(found) < 5 and rng.random() < 0.42:
            if rng.random() < 0.15:
                other = rng.choice(self.rows)
                if other is not row:
                    row, said = other, set()
                    found.append(self._exchange(row, rng, said, follows=False))
                    continue
            made = self._exchange(row, rng, said, follows=True)
            if made is None:
                break
            found.append(made)
        return [exchange for exchange in found if exchange]

    def thread_about(self, rng: Random) -> Thread:
        """One exchange that tells several things about an entity."""
        return [self._about(rng.choice(self.rows), rng, set())]

    def _exchange(self, row: Row, rng: Random, said: set[str], follows: bool) -> Exchange | None:
        roll = rng.random()
        if follows and roll < 0.25:
            return self._more(row, rng, said)
        if roll < 0.2:
            return self._about(row, rng, said)
        open_aspects = [
            s
            for s in self._aspects
            if s.name not in said
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
            said.add(section.name)
        full = named or rng.random() < 0.5 or not section.additions
        form = rng.choice(_usable(section.answers if full else section.additions, row))
        answer = self._say(form, row, rng, full, said)
        if section.additions and rng.random() < 0.22:
            answer += " " + " ".join(self._additions(row, rng, said, 1))
        return Exchange(key, question, answer.strip())

    def _about(self, row: Row, rng: Random, said: set[str]) -> Exchange:
        likes = "like" in self._sections and rng.random() < 0.2
        section = self._sections["like" if likes else "about"]
        question, key = self._question(section, section.questions, True, row, rng)
        opening = self._say(rng.choice(_usable(section.answers, row)), row, rng, True, said)
        count = rng.choice((2, 3, 3, 4, 4, 5, 6))
        if "short" in question or "a bit" in question:
            count = rng.choice((2, 3))
        elif "long text" in question or "everything" in question:
            count = 9
        return Exchange(key, question, " ".join([opening, *self._additions(row, rng, said, count)]))

    def _more(self, row: Row, rng: Random, said: set[str]) -> Exchange | None:
        section = self._sections["more"]
        added = self._additions(row, rng, said, rng.choice((1, 2, 2, 3, 4)))
        if not added:
            return None
        question, key = self._question(section, section.follow_ups, False, row, rng)
        opening = rng.choice(section.answers) if rng.random() < 0.4 else ""
        opening = self._say(opening, row, rng, True, said)
        return Exchange(key, question, f"{opening} {' '.join(added)}".strip())

    def _additions(self, row: Row, rng: Random, said: set[str], count: int) -> list[str]:
        """Up to `count` sentences about aspects not yet said, which then are."""
        sentences: list[str] = []
        # Facts may be told in two places.
        open_aspects = [*self._aspects, *(s for s in self._aspects if s.name == "fact")]
        for section in rng.sample(open_aspects, len(open_aspects)):
            fitting = _usable(section.additions, row)
            if len(sentences) < count and section.name not in said and fitting:
                sentences.append(self._say(rng.choice(fitting), row, rng, False, said))
                if section.name != "fact":
                    said.add(section.name)
        return sentences

    def _question(
        self, section: Section, asked: list[str], named: bool, row: Row, rng: Random
    ) -> tuple[str, str]:
        fitting = _usable(asked, row)
        form = rng.choice(fitting)
        wording = f"{'?' if named else '~'}{asked.index(form)}"
        text = expand(form, rng, row, self._subject(row, named))
        return text, f"{self.name}/{section.name}/{row['name']}/{wording}"

    def _say(self, form: str, row: Row, rng: Random, named: bool, said: set[str]) -> str:
        """The text of `form`; the aspects whose facts it tells are `said` now."""
        told = slots(form) - {"name", "names"}
        if "facts" in told:
            return self._say_fact(form, row, rng, named, said)
        said.update(s.name for s in self._aspects if any(told & slots(a) for a in s.additions))
        return expand(form, rng, row, self._subject(row, named))

    def _say_fact(self, form: str, row: Row, rng: Random, named: bool, said: set[str]) -> str:
        """`form` with a fact not yet told; the aspect is said when all are."""
        facts = row["facts"] if isinstance(row["facts"], tuple) else (row["facts"],)
        left = [fact for fact in facts if fact not in said] or list(facts)
        fact = rng.choice(left)
        said.add(fact)
        if len(left) == 1:
            said.add("fact")
        if fact.startswith("@"):
            fact = self._subject(row, named) + fact[1:]
        return expand(form, rng, {**row, "facts": fact}, self._subject(row, named=True))

    def _subject(self, row: Row, named: bool) -> str:
        if not named:
            return "they" if self._plural else "it"
        value: Value = row["names" if self._plural else "name"]
        assert isinstance(value, str)
        return value


def _usable(forms: list[str], row: Row) -> list[str]:
    return [form for form in forms if slots(form) <= row.keys()]
