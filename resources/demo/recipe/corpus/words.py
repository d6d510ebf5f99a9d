"""Small tasks with words: opposites, rhymes, plurals, past tenses, a sentence with a word."""

from random import Random

from recipe.corpus.forms import Row, names, table
from recipe.corpus.grammar import Value, expand, plural
from recipe.corpus.turn import Exchange, Thread

# Task: wordings, answers, wordings of "and for this word?".
TASKS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "opposites": (
        (
            "What is the opposite of {name}?",
            'What is the opposite of "{name}"?',
            "Tell me the opposite of {name}.",
            "I was wondering what the opposite of {name} is.",
            "Do you know the opposite of {name}?",
            "Give me the opposite of the word {name}.",
            "Which word is the opposite of {name}?",
            "opposite of {name}",
            "Find the opposite of this word: {name}",
            "Give the opposite of the word.\n\n{name}",
        ),
        (
            "The opposite of {name} is {opposite}.",
            "It is {opposite}.",
            "The opposite is {opposite}.",
            "The word {opposite} is the opposite of {name}.",
        ),
        ("And of {name}?", "And the opposite of {name}?", "What about {name}?"),
    ),
    "rhymes": (
        (
            "What rhymes with {name}?",
            'What rhymes with "{name}"?',
            "Which word rhymes with {name}?",
            "Give me a rhyme for {name}.",
            "Find a rhyme for {name}.",
            "I was wondering what rhymes with {name}.",
            "Any idea what rhymes with {name}?",
            "I need a rhyme for {name}.",
            "Name a word that rhymes with {name}.",
            "Find a rhyme for the word.\n\n{name}",
        ),
        (
            "The word {one rhymes} rhymes with {name}.",
            "A rhyme for {name} is {one rhymes}.",
            "How about {one rhymes}?",
            "The word {name} rhymes with {one rhymes}.",
        ),
        ("And with {name}?", "And a rhyme for {name}?", "What about {name}?"),
    ),
    "plurals": (
        (
            "What is the plural of {name}?",
            'What is the plural of "{name}"?',
            "Give me the plural of {name}.",
            "Tell me the plural of {name}.",
            "I was wondering what the plural of {name} is.",
            "Do you know the plural of {name}?",
            "plural of {name}",
            "How do you write the plural of {name}?",
            "Give the plural of the word.\n\n{name}",
        ),
        (
            "The plural of {name} is {plural}.",
            "It is {plural}.",
            "One {name}, two {plural}: the plural is {plural}.",
            "The plural is {plural}.",
        ),
        ("And of {name}?", "And the plural of {name}?", "What about {name}?"),
    ),
    "pasts": (
        (
            "What is the past tense of {name}?",
            'What is the past tense of "{name}"?',
            "Give me the past tense of {name}.",
            "Tell me the past tense of {name}.",
            "I was wondering what the past tense of {name} is.",
            "Do you know the past tense of {name}?",
            "past tense of {name}",
            "What is the past of {name}?",
            "Give the past tense of the word.\n\n{name}",
        ),
        (
            "The past tense of {name} is {past}.",
            "It is {past}.",
            "Today I {name}, yesterday I {past}: the past tense is {past}.",
            "The past tense is {past}.",
        ),
        ("And of {name}?", "And the past tense of {name}?", "What about {name}?"),
    ),
    "uses": (
        (
            "Use the word {name} in a sentence.",
            'Use the word "{name}" in a sentence.',
            "Make a sentence with {name}.",
            "Write a sentence with the word {name}.",
            "Can you use {name} in a sentence?",
            "Could you use the word {name} in a sentence?",
            "I need a sentence with the word {name}.",
            "Give me a sentence with {name}.",
            "Write a sentence with the word.\n\n{name}",
        ),
        (
            "{one sentences}.",
            "[Here is one|A sentence]: {one sentences}.",
            "[Sure|Gladly]: {one sentences}.",
        ),
        ("Now with {name}.", "And with {name}?", "Now one with {name}."),
    ),
}


def _rows(task: str) -> tuple[Row, ...]:
    if task != "plurals":
        return table(f"{task}.table")
    return tuple({"name": noun, "plural": plural(noun)} for noun in names("nouns"))


class WordTopic:
    """One of TASKS for a word, at times for another word after it."""

    name = "words"

    def thread(self, rng: Random) -> Thread:
        """One to three exchanges of the same task."""
        task = rng.choice(list(TASKS))
        asked, answers, next_asked = TASKS[task]
        found: Thread = []
        for row in rng.sample(_rows(task), 3):
            forms = next_asked if found else asked
            form = rng.choice(forms)
            values: dict[str, Value] = dict(row)
            answer = expand(rng.choice(answers), rng, values)
            key = f"words/{task}/{row['name']}/{forms is asked}{forms.index(form)}"
            found.append(Exchange(key, expand(form, rng, values), answer))
            if rng.random() > 0.25:
                break
        return found
