"""The texts that the demo model is trained on."""

import re
import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.corpus import Conversation, conversations, development_prompts, held_out_prompts
from recipe.corpus.forms import DATA, sections, table
from recipe.corpus.grammar import article, expand, join, plural
from recipe.corpus.split import is_held_out, normalised
from recipe.corpus.wording import typed

COUNT = 1200
WRONG_ARTICLE = re.compile(
    r"\ba [aeiou](?!ni|se|su|u|ne)\w*|\ban (?!SSD)[^aeiouh\W]\w*", re.IGNORECASE
)


@pytest.fixture(scope="module")
def trained() -> list[Conversation]:
    return list(conversations("train", 1, COUNT))


@pytest.fixture(scope="module")
def answers(trained: list[Conversation]) -> list[str]:
    return [turn.text for c in trained for turn in c if turn.role == "assistant"]


def users(conversation: Conversation) -> list[str]:
    return [normalised(turn.text) for turn in conversation if turn.role == "user"]


def test_the_same_seed_gives_the_same_conversations() -> None:
    assert list(conversations("train", 7, 50)) == list(conversations("train", 7, 50))
    assert list(conversations("train", 7, 50)) != list(conversations("train", 8, 50))


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ValueError, match="held-out"):
        conversations("test", 1)


def test_user_and_assistant_take_turns(trained: list[Conversation]) -> None:
    for conversation in trained:
        roles = [turn.role for turn in conversation]
        talk = roles[1:] if roles[0] == "system" else roles
        assert talk == ["user", "assistant"] * (len(talk) // 2)
        assert len(talk) >= 2


def test_texts_are_plain_and_no_template_shows(trained: list[Conversation]) -> None:
    for conversation in trained:
        for turn in conversation:
            assert turn.text.isascii()
            assert not re.search(r"[{}\[\]|@\\]|  | [.,!?]", turn.text), turn.text
            assert turn.text == turn.text.strip() != ""


def test_every_sentence_of_an_answer_starts_with_a_capital_and_ends(answers: list[str]) -> None:
    for answer in answers:
        assert re.match(r'^["A-Z]', answer), answer
        assert re.search(r'[.!?]"?$', answer), answer
        assert not re.search(r"[.!?] [a-z]", re.sub(r'[!?]" [a-z]', "", answer)), answer


def test_a_and_an_are_right(answers: list[str]) -> None:
    assert [found for a in answers for found in WRONG_ARTICLE.findall(a)] == []


def test_answers_repeat_no_word_and_no_sentence(answers: list[str]) -> None:
    for answer in answers:
        assert not re.search(r"\b(?!moo|tip|to)(\w+) \1\b", answer, re.IGNORECASE), answer
        sentences = re.findall(r"[^.!?]{20,}[.!?]", answer)
        assert len(sentences) == len(set(sentences)), answer


@pytest.mark.parametrize("prompts", [held_out_prompts(), development_prompts()])
def test_no_first_message_of_a_prompt_is_trained(
    trained: list[Conversation], prompts: list[list[str]]
) -> None:
    openings = {normalised(prompt[0]) for prompt in prompts}
    assert [c for c in trained if openings & set(users(c))] == []


def test_there_are_thirty_prompts_of_the_card_and_some_have_several_turns() -> None:
    prompts = held_out_prompts()
    assert len({normalised(prompt[0]) for prompt in prompts}) == len(prompts) == 30
    assert sum(len(prompt) > 1 for prompt in prompts) >= 4


def test_the_held_out_prompts_are_others_than_those_of_the_development() -> None:
    known = {normalised(prompt[0]) for prompt in development_prompts()}
    assert [p for p in held_out_prompts() if normalised(p[0]) in known] == []


def test_held_out_conversations_are_not_trained(trained: list[Conversation]) -> None:
    held_out = list(conversations("held-out", 1, 20))
    assert not {tuple(users(c)) for c in held_out if len(users(c)) > 1} & {
        tuple(users(c)) for c in trained
    }


def test_about_three_percent_of_combinations_are_held_out() -> None:
    found = sum(is_held_out(f"animals/food/{i}/?1") for i in range(10_000))
    assert 250 < found < 350


def test_conversations_hardly_repeat(trained: list[Conversation]) -> None:
    assert len(set(trained)) > 0.97 * len(trained)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.table")), ids=lambda path: path.name)
def test_tables_name_nothing_twice(path: Path) -> None:
    keys = [next(iter(row.values())) for row in table(path.name)]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.forms")), ids=lambda path: path.name)
def test_forms_have_no_section_twice_and_close_their_choices(path: Path) -> None:
    found = sections(path.name)
    assert len({section.name for section in found}) == len(found)
    for section in found:
        for form in section.questions + section.follow_ups + section.answers + section.additions:
            assert form.count("[") == form.count("]")
            assert form.count("{") == form.count("}")


def test_every_question_of_the_smalltalk_has_an_answer() -> None:
    for name in ("smalltalk", "identity", "runahead", "advice", "nature"):
        for section in sections(f"{name}.forms"):
            assert section.answers
            assert section.questions or section.follow_ups


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        *[("cat", "cats"), ("fox", "foxes"), ("city", "cities"), ("day", "days")],
        *[("wolf", "wolves"), ("polar bear", "polar bears"), ("guinea pig", "guinea pigs")],
    ],
)
def test_plurals(noun: str, expected: str) -> None:
    assert plural(noun) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [("owl", "an"), ("cat", "a"), ("hour", "an"), ("unicorn", "a"), ("umbrella", "an")],
)
def test_articles_go_by_sound(word: str, expected: str) -> None:
    assert article(word) == expected


def test_lists_are_joined_as_in_english() -> None:
    assert join(["a"]) == "a"
    assert join(["a", "b"]) == "a and b"
    assert join(["a", "b", "c"], "or") == "a, b or c"


def test_templates_fill_slots_and_make_choices() -> None:
    values = {"name": "owl", "foods": ("mice", "voles")}
    text = expand("[{s name}|{s name}] eat {or foods}. {a name}!", Random(1), values)
    assert text in ("Owls eat mice or voles. An owl!", "Owls eat voles or mice. An owl!")


def test_a_slot_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        expand("{name}", Random(1))


def test_users_type_in_many_ways_but_ask_the_same() -> None:
    rng = Random(3)
    texts = {typed("What do owls eat?", rng) for _ in range(300)}
    assert len(texts) > 15
    assert {"What do owls eat?", "what do owls eat?", "what do owls eat"} <= texts


def test_what_is_typed_is_never_empty() -> None:
    rng = Random(4)
    assert all(typed(text, rng) for text in ("???", "...", "I", "Hi") for _ in range(500))
