"""Small tasks with words: opposites, rhymes, plurals, past tenses, a sentence with a word."""

import re
from functools import cache
from random import Random

from recipe.corpus.forms import DATA, Row, items, names, section_of, table, text
from recipe.corpus.grammar import capitalise, expand, join, plural
from recipe.corpus.turn import Exchange, Thread

COUNTS = ("one", "two", "three", "four", "five")
# Of rhymes and of words with a letter, when no number is asked for.
_SOME = 3
# Words of the answers, which would stand there twice in a row.
_SHUNNED = {"word", "words", "and", "the", "with", "aloud", "today"}
_STARTS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "fl")
_ENDS = ("", "", "", "n", "r", "l", "x", "t", "ck", "m", "sh")


@cache
def pairs(task: str) -> dict[str, str]:
    """Each word that `task` has an answer to, and the answer."""
    if task == "plurals":
        nouns = [*names("nouns"), *(text(row["name"]) for row in _things())]
        return {noun: plural(noun) for noun in nouns if " " not in noun}
    key = {"opposites": "opposite", "pasts": "past", "synonyms": "other"}[task]
    found = {text(row["name"]): text(row[key]) for row in table(f"{task}.table")}
    if task != "pasts":
        found |= {other: word for word, other in found.items() if other not in found}
    return found


@cache
def common_words() -> tuple[str, ...]:
    """The words that forms and tables have in lower case."""
    texts = " ".join(path.read_text("ascii") for path in sorted(DATA.iterdir()))
    found = set(re.findall(r"(?<![\w'{])[a-z]{3,}(?![\w'}])", texts))
    return tuple(sorted(found - _SHUNNED))


def made_up(rng: Random) -> str:
    """A word that there is not: for such a word, too, there is a sentence."""
    parts = (rng.choice(_STARTS) + rng.choice("aeiou") for _ in range(rng.choice((2, 2, 2, 3))))
    return "".join(parts) + rng.choice(_ENDS)


def _things() -> tuple[Row, ...]:
    return (*table("animals.table"), *table("objects.table"))


@cache
def _families() -> dict[str, tuple[str, ...]]:
    """Each word with rhymes, and these, in the order of the table."""
    rows = [items(row["words"]) for row in table("rhymes.table")]
    return {word: tuple(w for w in row if w != word) for row in rows for word in row}


class WordTopic:
    """A task of data/words.forms for a word, at times for another word after it."""

    name = "words"

    def thread(self, rng: Random) -> Thread:
        """One to three exchanges of the same task."""
        makers = (
            *(self._pair, self._pair, self._pair, self._pair, self._rhyme, self._rhyme),
            *(self._sentence,) * 5,
            *(self._letter, self._letters),
        )
        make = rng.choice(makers)
        task = rng.choice(("opposites", "opposites", "plurals", "pasts", "synonyms"))
        found: Thread = []
        while not found or (len(found) < 3 and rng.random() < 0.25):
            found.append(make(rng, task, bool(found)))
        return found

    @staticmethod
    def _asked(rng: Random, task: str, word: str, follows: bool, **values: str) -> tuple[str, str]:
        """The key and the question."""
        section = section_of("words.forms", task)
        forms = section.follow_ups if follows and section.follow_ups else section.questions
        form = rng.choice(forms)
        key = f"words/{task}/{word}/{forms is section.questions}{forms.index(form)}"
        return key, expand(form, rng, {"name": word, **values})

    def _pair(self, rng: Random, task: str, follows: bool) -> Exchange:
        known = pairs(task)
        section = section_of("words.forms", task)
        if rng.random() < 0.15 and section.others:
            word = rng.choice([w for w in common_words() if w not in known])
            key, question = self._asked(rng, task, word, follows)
            return Exchange(key, question, expand(rng.choice(section.others), rng))
        word = rng.choice(list(known))
        key, question = self._asked(rng, task, word, follows)
        values = {"name": word, "other": known[word]}
        return Exchange(key, question, expand(rng.choice(section.answers), rng, values))

    def _rhyme(self, rng: Random, _task: str, follows: bool) -> Exchange:
        families = _families()
        if rng.random() < 0.12:
            # A short word is likely to have a rhyme.
            word = rng.choice([w for w in common_words() if len(w) > 6 and w not in families])
            key, question = self._asked(rng, "rhyme", word, follows)
            others = section_of("words.forms", "rhyme").others
            return Exchange(key, question, expand(rng.choice(others), rng))
        word = rng.choice(list(families))
        return self._listed(rng, "rhyme", word, families[word], follows)

    def _letter(self, rng: Random, _task: str, follows: bool) -> Exchange:
        row = rng.choice(table("letters.table"))
        return self._listed(rng, "letter", text(row["name"]), items(row["words"]), follows)

    def _listed(
        self, rng: Random, task: str, word: str, known: tuple[str, ...], follows: bool
    ) -> Exchange:
        """As many of `known`, in their order, as are asked for, or fewer where there are fewer."""
        roll = rng.random()
        count = 1 if roll < 0.25 else _SOME if roll < 0.45 else rng.choice((2, 3, 3, 4, 5))
        kind = task if 0.25 <= roll < 0.45 else f"{task} one" if count == 1 else f"{task} many"
        number = rng.choice((COUNTS[count - 1], COUNTS[count - 1], str(count)))
        if follows:
            kind, count = task, _SOME
        key, question = self._asked(rng, kind, word, follows, count=number)
        forms = section_of("words.forms", kind).answers or section_of("words.forms", task).answers
        answer = expand(rng.choice(forms), rng, {"name": word, "words": join(known[:count])})
        if count > len(known) and kind.endswith("many"):
            answer += " " + rng.choice(("I know no more.", "More I do not know."))
        return Exchange(key, question, answer)

    def _sentence(self, rng: Random, _task: str, follows: bool) -> Exchange:
        """A sentence of the table, or one that any word fits into."""
        section = section_of("words.forms", "uses")
        told = {text(row["name"]): items(row["sentences"]) for row in table("uses.table")}
        nouns = [noun for noun in pairs("plurals") if noun not in told]
        roll = rng.random()
        if roll < 0.35:
            word = rng.choice(list(told))
            sentence = rng.choice(told[word])
        elif roll < 0.5:
            word = rng.choice(nouns)
            sentence = rng.choice(section.additions)
        elif roll < 0.58:
            return self._two_words(rng)
        else:
            word = made_up(rng) if roll > 0.85 else rng.choice(common_words())
            sentence = rng.choice(told.get(word) or section.others)
        key, question = self._asked(rng, "uses", word, follows)
        opening = rng.choice(section.answers)
        return Exchange(key, question, expand(f"{opening}: {sentence}.", rng, {"name": word}))

    def _two_words(self, rng: Random) -> Exchange:
        one, two = rng.sample(common_words(), 2)
        key, question = self._asked(rng, "two words", one, False, other=two)
        form = rng.choice(section_of("words.forms", "two words").answers)
        return Exchange(key, question, expand(form, rng, {"name": one, "other": two}))

    def _letters(self, rng: Random, _task: str, follows: bool) -> Exchange:
        """How a word is written is not known: the model sees no letters."""
        key, question = self._asked(rng, "spelling", rng.choice(common_words()), follows)
        form = rng.choice(section_of("words.forms", "spelling").answers)
        return Exchange(key, capitalise(question), expand(form, rng))
