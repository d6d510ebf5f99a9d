"""Topics without facts: greetings, who the model is, advice. Their forms are all there is."""

from random import Random

from recipe.corpus.forms import Section, names, sections
from recipe.corpus.grammar import Value, expand
from recipe.corpus.turn import Exchange, Thread


class ScriptTopic:
    """Questions and answers of data/`name`.forms, one to three in a row."""

    def __init__(self, name: str, follow_rate: float = 0.3) -> None:
        self.name = name
        self._follow_rate = follow_rate
        self._sections = sections(f"{name}.forms")

    def thread(self, rng: Random) -> Thread:
        """One to four exchanges of different sections."""
        left = list(self._sections)
        section = rng.choice([s for s in left if s.questions])
        found = [self.exchange(section, rng, follows=False)]
        left.remove(section)
        while len(found) < 4 and rng.random() < self._follow_rate:
            fitting = [s for s in left if s.follow_ups]
            if not fitting:
                break
            section = rng.choice(fitting)
            left.remove(section)
            found.append(self.exchange(section, rng, follows=True))
        return found

    def named(self, name: str) -> Section:
        """The section called `name`."""
        return next(section for section in self._sections if section.name == name)

    def exchange(self, section: Section, rng: Random, follows: bool) -> Exchange:
        """One exchange of `section`."""
        asked = section.follow_ups if follows and section.follow_ups else section.questions
        form = rng.choice(asked)
        wording = f"{'~' if asked is section.follow_ups else '?'}{asked.index(form)}"
        values: dict[str, Value] = {"person": rng.choice(names("women") + names("men"))}
        answer = expand(rng.choice(section.answers), rng, values)
        if section.additions and rng.random() < 0.4:
            answer += " " + expand(rng.choice(section.additions), rng, values)
        key = f"{self.name}/{section.name}/{wording}"
        return Exchange(key, expand(form, rng, values), answer)
