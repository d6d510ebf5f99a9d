"""The mixture of topics, and the conversations made from it."""

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random

from recipe.corpus.checks import CheckTopic
from recipe.corpus.comparisons import ComparisonTopic
from recipe.corpus.differences import DifferenceTopic
from recipe.corpus.entities import EntityTopic
from recipe.corpus.lists import ListTopic
from recipe.corpus.meals import MealTopic
from recipe.corpus.memory import MemoryTopic
from recipe.corpus.numbers import NumberTopic
from recipe.corpus.paints import PaintTopic
from recipe.corpus.poems import PoemTopic
from recipe.corpus.prompts import development_prompts, held_out_prompts
from recipe.corpus.scripts import ScriptTopic
from recipe.corpus.split import is_held_out, normalised
from recipe.corpus.stories import StoryTopic
from recipe.corpus.strange import StrangeTopic
from recipe.corpus.turn import Conversation, Exchange, Thread, Turn
from recipe.corpus.unknown import UnknownTopic
from recipe.corpus.wording import typed
from recipe.corpus.words import WordTopic

SMALLTALK = ScriptTopic("smalltalk", 0.15)

STORIES = StoryTopic()
POEMS = PoemTopic()
# Topics of facts, whether their entities are spoken of as "they", and their share of threads.
_FACTS = (
    *(("animals", True, 14.0), ("countries", False, 8.0), ("cities", False, 5.0)),
    *(("space", False, 6.0), ("plants", True, 6.0), ("objects", True, 6.0)),
    *(("foods", False, 6.0), ("recipes", False, 6.0), ("colours", False, 3.0)),
)
FACTS = {name: EntityTopic(name, plural_subject) for name, plural_subject, _ in _FACTS}
# What is told and asked later has something else in between.
_BETWEEN = (*(FACTS[name].thread for name in ("animals", "foods", "countries")), SMALLTALK.thread)
MEMORY = MemoryTopic(lambda rng: rng.choice(_BETWEEN)(rng))
# Topic and its share of threads; pets are among comparisons, the kitchen among recipes and meals,
# and some of the numbers among words.
MIXTURE: tuple[tuple[Callable[[Random], Thread], float], ...] = (
    *((FACTS[name].thread, share) for name, _, share in _FACTS),
    (SMALLTALK.thread, 9),
    (ScriptTopic("identity", 0.4).thread, 8),
    (ScriptTopic("runahead", 0.4, brief=True).thread, 7),
    (ScriptTopic("advice", 0.25).thread, 10),
    (ScriptTopic("people", 0.1).thread, 9),
    (ScriptTopic("nature", 0.35, brief=True).thread, 12),
    (MEMORY.thread, 7),
    (CheckTopic(FACTS).thread, 9),
    (PaintTopic().thread, 3),
    (UnknownTopic().thread, 7),
    (StrangeTopic().thread, 10),
    (STORIES.thread, 10),
    (POEMS.thread, 4),
    (ComparisonTopic().thread, 8),
    (DifferenceTopic().thread, 6),
    (ListTopic().thread, 8),
    (MealTopic().thread, 6),
    (WordTopic().thread, 11),
    (NumberTopic().thread, 4),
)

# What the model may offer, and what makes it.
OFFERS: dict[str, Callable[[Random], Thread]] = {
    "a story": STORIES.offered,
    "poem": POEMS.thread,
    "an animal": FACTS["animals"].thread_about,
}

SYSTEM_PROMPTS = (
    "You are a helpful assistant.",
    "You are a helpful and friendly assistant.",
    "You are a friendly model. Answer briefly.",
    "Answer in plain English.",
    "Be brief.",
    "You are a tiny demo model. Answer in short sentences.",
    "Answer the question.",
    "You are a kind teacher.",
)

# Prompts of fewer words, such as a greeting, may stand inside of longer messages.
_WORDS_OF_A_PROMPT = 4


def conversations(split: str, seed: int, count: int | None = None) -> Iterator[Conversation]:
    """Conversations of `split`, "train" or "held-out": `count` of them, else without end.

    The same seed gives the same ones. No combination of topic, entity, aspect and wording that is
    held out occurs in "train", nor does the first message of any prompt of `held_out_prompts()` or
    `development_prompts()`, be it inside of a longer message; each conversation of "held-out" has
    at least one such combination. Raises ValueError for another split.
    """
    if split not in ("train", "held-out"):
        raise ValueError(f'the splits are "train" and "held-out", not "{split}"')
    return islice(_endless(split, Random(f"{split} {seed}")), count)


def _endless(split: str, rng: Random) -> Iterator[Conversation]:
    prompts = held_out_prompts() + development_prompts()
    openings = {normalised(prompt[0]) for prompt in prompts}
    while True:
        thread = _thread(rng)
        if any(is_held_out(exchange.key) for exchange in thread) != (split == "held-out"):
            continue
        conversation = _conversation(thread, rng)
        # What is typed may hide a prompt behind a greeting or have a typo in it.
        messages = [t.text for t in conversation if t.role == "user"]
        messages += [exchange.question for exchange in thread]
        if not any(holds(message, openings) for message in messages):
            yield conversation


def holds(message: str, openings: set[str]) -> bool:
    """Whether `message` is one of `openings`, which are normalised, or has a long one inside."""
    plain = normalised(message)
    return plain in openings or any(
        f" {opening} " in f" {plain} "
        for opening in openings
        if len(opening.split()) >= _WORDS_OF_A_PROMPT
    )


def _thread(rng: Random) -> Thread:
    """Exchanges of one topic or more, at times with a greeting before and thanks after."""
    makers = [maker for maker, _ in MIXTURE]
    weights = [weight for _, weight in MIXTURE]
    thread: Thread = []
    if rng.random() < 0.07:
        thread.append(SMALLTALK.exchange(SMALLTALK.named("hello"), rng, follows=False))
    maker = rng.choices(makers, weights)[0]
    thread += maker(rng)
    thread += _taken(thread[-1].answer, rng)
    while rng.random() < 0.3 and len(thread) < 7:
        maker = rng.choices(makers, weights)[0]
        # A second one would say that it was not told what the first was.
        if maker == MEMORY.thread and any(e.key.startswith("memory/") for e in thread):
            continue
        thread += maker(rng)
    if rng.random() < 0.08:
        thread.append(SMALLTALK.exchange(SMALLTALK.named("thanks"), rng, follows=True))
    if rng.random() < 0.04:
        thread.append(SMALLTALK.exchange(SMALLTALK.named("bye"), rng, follows=True))
    return thread


def _taken(answer: str, rng: Random) -> Thread:
    """At times the user says yes to what `answer` offers."""
    question = answer.rsplit(". ", 1)[-1]
    made = next((make for offer, make in OFFERS.items() if offer in question), None)
    if made is None or not question.endswith("?") or rng.random() < 0.4:
        return []
    yes = rng.choice(("Yes", "Yes, please.", "Yes please", "Sure!", "OK", "Please do.", "Why not?"))
    return [Exchange(f"offers/{yes}", yes, made(rng)[0].answer)]


def _conversation(thread: list[Exchange], rng: Random) -> Conversation:
    turns = []
    if rng.random() < 0.06:
        turns.append(Turn("system", rng.choice(SYSTEM_PROMPTS)))
    for i, exchange in enumerate(thread):
        turns.append(Turn("user", typed(exchange.question, rng, follows=i > 0)))
        turns.append(Turn("assistant", exchange.answer))
    return tuple(turns)
