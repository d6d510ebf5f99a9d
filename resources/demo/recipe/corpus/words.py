"""Small tasks with words: opposites, rhymes, plurals, past tenses, a sentence with a word."""

import re
from functools import cache
from random import Random

from recipe.corpus.forms import DATA, Row, items, names, section_of, sections, table, text
from recipe.corpus.grammar import capitalise, expand, join, plural
from recipe.corpus.numbers import NumberTopic
from recipe.corpus.poems import PoemTopic
from recipe.corpus.turn import Exchange, Thread

COUNTS = ("one", "two", "three", "four", "five")
# Of rhymes and of words with a letter, when no number is asked for.
_SOME = 3
# Words of the answers, which would stand there twice in a row.
_SHUNNED = {"word", "words", "and", "the", "with", "aloud", "today"}
_NO_RHYME = ("orange", "silver", "purple", "month", "wasp", "angel", "breakfast", "wolf")
_PAIRS = ("opposites", "opposites", "opposites", "pasts", "pasts", "pasts", "plurals", "synonyms")
_TASKS = (
    *(*_PAIRS, *("plurals",) * 2, *("rhyme",) * 5, *("uses",) * 5),
    *("two words", "letter", "spelling", "terms"),
)
# The share of words that people ask for most.
_ASKED = 0.72
# Poems that may be asked for after a rhyme.
_POEMS = {
    **{"moon": "the moon", "sea": "the sea", "rain": "rain", "star": "stars", "cat": "cats"},
    **{"dog": "dogs", "tree": "trees", "sun": "the sun", "bee": "bees", "night": "the night"},
    **{"love": "love", "snow": "snow", "mouse": "mice", "boat": "boats", "rose": "flowers"},
    **{"book": "books", "cake": "cake", "bear": "bears", "fox": "foxes", "frog": "frogs"},
}
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
def asked(task: str) -> tuple[str, ...]:
    """The words that people ask for most in `task`. Raises StopIteration if there are none."""
    return items(next(row["words"] for row in table("asked.table") if row["task"] == task))


@cache
def common_words() -> tuple[str, ...]:
    """The words that forms and tables have in lower case."""
    texts = " ".join(path.read_text("ascii") for path in sorted(DATA.iterdir()))
    found = set(re.findall(r"(?<![\w'{])[a-z]{3,}(?![\w'}])", texts))
    return tuple(sorted(found - _SHUNNED))


def made_up(rng: Random) -> str:
    """A word that there is not: nothing is known of such a word."""
    parts = (rng.choice(_STARTS) + rng.choice("aeiou") for _ in range(rng.choice((2, 2, 2, 3))))
    return "".join(parts) + rng.choice(_ENDS)


def _things() -> tuple[Row, ...]:
    return (*table("animals.table"), *table("objects.table"))


@cache
def _families() -> dict[str, tuple[str, ...]]:
    """Each word with rhymes, and these, in the order of the table."""
    rows = [items(row["words"]) for row in table("rhymes.table")]
    return {word: tuple(w for w in row if w != word) for row in rows for word in row}


@cache
def uses() -> dict[str, tuple[str, ...]]:
    """Each word that there is a sentence with, and one or two sentences."""
    return {text(row["name"]): items(row["sentences"]) for row in table("uses.table")}


@cache
def _two() -> dict[tuple[str, str], str]:
    """Pairs of words, in both orders, and a sentence with both."""
    found = {}
    for row in table("two_words.table"):
        one, other = text(row["name"]).split()
        found[one, other] = found[other, one] = text(row["sentence"])
    return found


@cache
def rare_words() -> tuple[str, ...]:
    """English words that no task has an answer to."""
    found = {word for row in table("rare.table") for word in items(row["words"])}
    known = {*uses(), *_families(), *(w for task in set(_PAIRS) for w in pairs(task))}
    return tuple(sorted(found - known))


@cache
def _strange(task: str) -> tuple[str, ...]:
    """Common words that `task` has no answer to."""
    known: dict[str, tuple[str, ...]] | dict[str, str]
    known = uses() if task == "uses" else _families() if task == "rhyme" else pairs(task)
    # A short word is likely to have a rhyme.
    shortest = 7 if task == "rhyme" else 3
    found = [w for w in common_words() if len(w) >= shortest and w not in known]
    return (*found, *_NO_RHYME * 20) if task == "rhyme" else tuple(found)


def unknown_word(rng: Random, task: str) -> str:
    """A word that `task` has no answer to: a rare one, a made-up one or a common one."""
    roll = rng.random()
    if roll < 0.6:
        return rng.choice(rare_words())
    return made_up(rng) if roll < 0.88 else rng.choice(_strange(task))


def _task_of(kind: str) -> str:
    """The task that `kind` of question asks for: "rhyme" of "rhyme one" and "another rhyme"."""
    return re.sub(r"^another | (one|many|about)$", "", kind)


def quoted(word: str, rng: Random) -> str:
    """`word` as it may be typed in a question, with quotes or without."""
    mark = rng.choice(("", "", "", "", '"', '"', "'"))
    return f"{mark}{word}{mark}"


class WordTopic:
    """Tasks of data/words.forms for a word, often for other words or with other tasks after it."""

    name = "words"

    def thread(self, rng: Random) -> Thread:
        """One to four exchanges, of one task or more, or some on numbers; others may follow."""
        if rng.random() < 0.3:
            return NumberTopic().thread(rng)
        task = rng.choice(_TASKS)
        length = rng.choices((1, 2, 3, 4), (50, 27, 14, 9))[0]
        found: Thread = []
        before = ""
        while len(found) < length:
            if found and rng.random() < 0.35:
                task = rng.choice(_TASKS)
            found += self._one(rng, task, before, more=len(found) + 1 < length)
            before = found[-1].key.split("/")[1]
        word = found[-1].key.split("/")[2]
        if _task_of(before) == "rhyme" and word in _POEMS and rng.random() < 0.4:
            found.append(PoemTopic().about(_POEMS[word], rng))
        elif rng.random() < 0.06:
            found += NumberTopic().thread(rng)
        return found

    def _one(self, rng: Random, task: str, before: str, more: bool) -> Thread:
        """A task, and if `more`, at times another answer to the same after it."""
        if task == "spelling":
            return [self._letters(rng, before)]
        if task == "terms":
            return [self._term(rng)]
        if task == "two words":
            return [self._two_words(rng, before)]
        if task == "letter":
            row = rng.choice(table("letters.table"))
            return [self._listed(rng, task, text(row["name"]), items(row["words"]), before)]
        known = {"uses": uses, "rhyme": _families}.get(task, lambda: pairs(task))()
        share = {"uses": 0.15, "rhyme": 0.1}.get(task, 0.08)
        if rng.random() < share:
            kind = rng.choice(("rhyme", "rhyme one")) if task == "rhyme" else task
            key, question = self._asked(rng, kind, unknown_word(rng, task), before)
            others = section_of("words.forms", task).others
            return [Exchange(key, question, expand(rng.choice(others), rng))]
        word = rng.choice(list(known))
        if rng.random() < _ASKED:
            # What people ask for most stands first.
            common = asked(task)
            weights = [1 / (place + 20) for place in range(len(common))]
            word = rng.choices(common, weights)[0]
        if task == "rhyme":
            only = more and rng.random() < 0.4
            found = [self._listed(rng, task, word, _families()[word], before, only)]
            return [*found, self._another(rng, task, word)] if only else found
        if task == "uses":
            # Those with two sentences are few: for them, another one is asked for more often.
            double = rng.choice([w for w in asked(task) if len(uses()[w]) > 1])
            word = double if more and rng.random() < 0.2 else word
            found = [self._sentence(rng, word, before)]
        else:
            found = [self._pair(rng, task, word, before)]
        again = {"uses": 0.3, "synonyms": 0.15, "opposites": 0.05}.get(task, 0)
        return [*found, self._another(rng, task, word)] if more and rng.random() < again else found

    @staticmethod
    def _asked(rng: Random, kind: str, word: str, before: str, **values: str) -> tuple[str, str]:
        """The key and the question; `before` is the kind of task asked before, if any."""
        section = section_of("words.forms", kind)
        task = _task_of(kind)
        forms, mark = section.questions, "?"
        roll = rng.random()
        if _task_of(before) == task and section.follow_ups and roll < 0.7:
            forms, mark = section.follow_ups, "~"
        elif before and roll < 0.88:
            forms, mark = section_of("words.forms", f"{kind} next").questions, "+"
        form = rng.choice(forms)
        name = word if task == "letter" or kind == "uses about" else quoted(word, rng)
        the_word = form.replace("{the word}", "the word {name}")
        the = rng.choice(("", "", "the word "))
        filled = the_word.replace("{word}", f"{the}{{name}}")
        key = f"words/{kind}/{word}/{mark}{forms.index(form)}"
        return key, expand(filled, rng, {"name": name, **values})

    @staticmethod
    def _another(rng: Random, task: str, word: str) -> Exchange:
        """Another answer to what was just asked, or that there is none."""
        section = section_of("words.forms", f"another {task}")
        form = rng.choice(section.follow_ups)
        key = f"words/another {task}/{word}/~{section.follow_ups.index(form)}"
        others = {"rhyme": _families, "uses": uses}.get(task, dict)().get(word, ())
        # Of rhymes the first was told, which the word itself is not among.
        if len(others) > 1:
            values = {"name": word, "other": others[1], "sentence": capitalise(others[1])}
            return Exchange(key, form, expand(rng.choice(section.answers), rng, values))
        return Exchange(key, form, expand(rng.choice(section.others), rng))

    def _pair(self, rng: Random, task: str, word: str, before: str) -> Exchange:
        key, question = self._asked(rng, task, word, before)
        values = {"name": word, "other": pairs(task)[word]}
        form = rng.choice(section_of("words.forms", task).answers)
        return Exchange(key, question, expand(form, rng, values))

    def _listed(
        self,
        rng: Random,
        task: str,
        word: str,
        known: tuple[str, ...],
        before: str,
        only: bool = False,
    ) -> Exchange:
        """As many of `known`, in their order, as are asked for, or fewer where there are fewer.

        One is asked for if `only`. Where no number is told, one is meant if one was asked before.
        """
        roll = 0.0 if only else rng.random()
        if not only and _task_of(before) == task:
            roll = 0.35 + 0.65 * roll if roll > 0.5 else 0.5
        count = 1 if roll < 0.35 else _SOME if roll < 0.65 else rng.choice((2, 3, 3, 4, 5))
        kind = task if 0.35 <= roll < 0.65 else f"{task} one" if count == 1 else f"{task} many"
        number = rng.choice((COUNTS[count - 1], COUNTS[count - 1], str(count)))
        key, question = self._asked(rng, kind, word, before, count=number)
        if "/~" in key and before in (f"{task} one", f"another {task}"):
            kind, count = f"{task} one", 1
        forms = section_of("words.forms", kind).answers or section_of("words.forms", task).answers
        answer = expand(rng.choice(forms), rng, {"name": word, "words": join(known[:count])})
        if count > len(known) and kind.endswith("many"):
            answer += " I know no more."
        return Exchange(key, question, answer)

    def _sentence(self, rng: Random, word: str, before: str) -> Exchange:
        """The first sentence of the table."""
        kind = "uses about" if word in asked("nouns") and rng.random() < 0.3 else "uses"
        key, question = self._asked(rng, kind, word, before)
        form = rng.choice(section_of("words.forms", "uses").answers)
        return Exchange(key, question, expand(form, rng, {"sentence": capitalise(uses()[word][0])}))

    def _two_words(self, rng: Random, before: str) -> Exchange:
        section = section_of("words.forms", "two words")
        if rng.random() < 0.6:
            one, other = rng.choice(list(_two()))
        else:
            one, other = (self._any(rng) for _ in range(2))
        # The quotes are those of both words.
        mark = rng.choice(("", "", '"', "'"))
        forms = section.questions
        if before:
            forms = section_of("words.forms", "two words next").questions
        form = rng.choice(forms)
        key = f"words/two words/{one} {other}/{bool(before)}{forms.index(form)}"
        values = {"name": mark + one + mark, "other": mark + other + mark}
        question = expand(form, rng, values)
        said = _two().get((one, other))
        if not said:
            return Exchange(key, question, expand(rng.choice(section.others), rng))
        values = {"sentence": capitalise(said)}
        return Exchange(key, question, expand(rng.choice(section.answers), rng, values))

    @staticmethod
    def _term(rng: Random) -> Exchange:
        """What a word about words means."""
        section = rng.choice(sections("terms.forms"))
        form = rng.choice(section.questions)
        key = f"words/terms/{section.name}/?{section.questions.index(form)}"
        return Exchange(key, expand(form, rng), section.answers[0])

    @staticmethod
    def _any(rng: Random) -> str:
        """A word that a sentence is asked for with."""
        return rng.choice(list(uses())) if rng.random() < 0.7 else unknown_word(rng, "uses")

    def _letters(self, rng: Random, before: str) -> Exchange:
        """How a word is written is not known: the model sees no letters."""
        word = unknown_word(rng, "uses") if rng.random() < 0.3 else rng.choice(common_words())
        key, question = self._asked(rng, "spelling", word, before)
        form = rng.choice(section_of("words.forms", "spelling").answers)
        return Exchange(key, capitalise(question), expand(form, rng))
