"""How the demo model is made: nothing old passes for new, and the card says what was found."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.card import card
from recipe.corpus import Turn, conversations
from recipe.corpus.checks import CheckTopic
from recipe.corpus.comparisons import ComparisonTopic
from recipe.corpus.forms import items, names, sections, table
from recipe.corpus.grammar import plural
from recipe.corpus.lists import ListTopic
from recipe.corpus.memory import MemoryTopic
from recipe.corpus.mixture import FACTS, holds
from recipe.corpus.numbers import NumberTopic
from recipe.corpus.poems import PoemTopic
from recipe.corpus.split import normalised
from recipe.corpus.stories import StoryTopic
from recipe.corpus.turn import Exchange, Thread
from recipe.corpus.unknown import UnknownTopic
from recipe.corpus.words import COUNTS, WordTopic
from recipe.evaluate import share_of_trigram
from recipe.made_of import RECIPE, StaleFolderError, check, claim, digest

SETTINGS = {"n_step": 2500, "decay_share": 0.4}
FIGURES = {"all": 1.5, "assistant": 1.25}


def made(folder: Path, name: str = "short.npz") -> Path:
    claim(folder, SETTINGS)
    (folder / name).touch()
    return folder


def test_what_was_made_by_this_recipe_is_used_again(tmp_path: Path) -> None:
    folder = made(tmp_path / "demo")
    claim(folder, SETTINGS)
    check(folder)


def test_an_empty_folder_is_taken_for_other_settings(tmp_path: Path) -> None:
    claim(tmp_path, SETTINGS)
    claim(made(tmp_path), SETTINGS)


@pytest.mark.parametrize("name", ["tokenizer.json", "long.npz", "checkpoint.pt", "final.pt"])
def test_what_was_made_with_other_settings_is_refused(tmp_path: Path, name: str) -> None:
    folder = made(tmp_path / "demo", name)
    with pytest.raises(StaleFolderError, match=rf"{folder}.*other settings.*Delete"):
        claim(folder, SETTINGS | {"n_step": 100})


@pytest.mark.parametrize("note", [None, "", json.dumps({"recipe": "0", "settings": SETTINGS})])
def test_what_another_recipe_made_is_refused(tmp_path: Path, note: str | None) -> None:
    folder = made(tmp_path / "demo")
    (folder / "made_of.json").unlink()
    if note is not None:
        (folder / "made_of.json").write_text(note)
    with pytest.raises(StaleFolderError, match=rf"{folder}.*another recipe.*Delete"):
        claim(folder, SETTINGS)
    with pytest.raises(StaleFolderError, match="another recipe"):
        check(folder)


@pytest.mark.parametrize(
    ("name", "depends"),
    [
        *[("corpus/data/animals.table", True), ("corpus/prompts.py", True), ("shape.py", True)],
        *[("train.py", True), ("tokenizer.py", True), ("packing.py", True), ("rows.py", True)],
        *[("card.md", False), ("card.py", False), ("evaluate.py", False)],
    ],
)
def test_another_text_or_shape_is_another_recipe_and_another_card_is_not(
    tmp_path: Path, name: str, depends: bool
) -> None:
    recipe = tmp_path / "recipe"
    shutil.copytree(RECIPE, recipe)
    assert digest(recipe) == digest()
    with (recipe / name).open("a") as file:
        file.write("\n")
    assert (digest(recipe) != digest()) == depends


def test_the_share_of_the_trigram_is_that_where_the_model_does_worst() -> None:
    perplexity = {"model": FIGURES, "trigram": {"all": 3.75, "assistant": 2.5}}
    assert share_of_trigram(perplexity) == 0.5


def results() -> dict[str, Any]:
    said = {"replies": ["Yes.", "No."], "ends": ["stop", "length"]}
    return {
        "file_bytes": 17_000_000,
        "perplexity": {
            "n_conversation": 300,
            "n_token": 34_000,
            "n_train_token": 15_360_000,
            **dict.fromkeys(("model", "trigram", "unigram"), FIGURES),
        },
        "sampling": {"temperature": 0.7, "top_k": 20, "top_p": 0.8, "min_p": 0.05, "seed": 1},
        "replies": [{"prompt": ["Is it?", "Is it_not?"], "0.0": said, "0.7": said}],
        "own_replies": [{"prompt": ["Why?", "How?"], "0.0": said, "0.7": said}],
        "llama_cpp": [None, 0.01],
        "experts": {
            "n_chat": 4,
            "n_reply": 31,
            "n_step": 380,
            "n_counted_step": 190,
            "record_bytes": 58_752,
            "lfu_hit": {"0.1": 0.08, "0.3": 0.4},
            "next_router_recall": 0.76,
            "repeat_share": 0.3,
            "effective_experts": [22.9, 29.0],
            "never_used": 1,
        },
    }


TRAINED = {
    **{"n_step": 2500, "batch_tokens": 6144, "decay_share": 0.4},
    **{"balance": 0.01, "late_balance": 0.0004, "balanced_share": 0.35},
}


def test_the_card_says_what_was_counted_and_prints_every_turn() -> None:
    nobody = {"0": None, "0.7": None}
    text = card(results(), TRAINED, nobody, nobody)
    for words in (
        "31 replies",
        "the 380 decode steps",
        "other 190",
        "1 of the 2 messages",
        "top-p 0.8",
    ):
        assert words in text
    assert "**Is it?**" in text and "**Is it\\_not?**" in text
    assert text.index("**How?**") < text.index("others' questions") < text.index("**Is it?**")
    assert text.count("*(cut off)*") == 4
    assert "A reader found" not in text
    assert "{" not in text and "](" not in text  # no place is left open, and no link to nowhere


def test_the_card_says_what_a_reader_found() -> None:
    text = card(results(), TRAINED, {"0": 1, "0.7": 0}, {"0": 0, "0.7": None})
    for found in (
        "1 of 1 at temperature 0 and 0 of 1 at temperature 0.7",
        "0 of 1 at temperature 0",
    ):
        assert f"A reader found {found} grammatical and on topic." in text


def talks(make: Callable[[Random], Thread], count: int = 400) -> list[Exchange]:
    rng = Random(5)
    return [exchange for _ in range(count) for exchange in make(rng)]


@pytest.fixture(scope="module")
def said() -> list[Turn]:
    return [turn for c in conversations("train", 11, 1500) for turn in c]


@pytest.mark.parametrize("name", FACTS)
def test_an_answer_about_an_entity_stands_alone(name: str) -> None:
    for exchange in talks(FACTS[name].thread):
        opening = r"^((Gladly|Sure|Of course|With pleasure)!|There is more\.) "
        opened = re.sub(opening, "", exchange.answer)
        assert not re.match(r"(Also|They) ", opened), exchange.answer
        assert not opened.startswith(("Also,", "And "))


def test_what_is_asked_of_them_does_not_say_they(said: list[Turn]) -> None:
    for turn in said:
        if turn.role == "user":
            assert not re.search(r"\b(find|recognise|cares for|grow|makes|see) they\b", turn.text)
            assert not re.search(r"\bwhat people (use|grow) they\b", turn.text)


def test_no_answer_says_twice_that_it_knows(said: list[Turn]) -> None:
    for turn in said:
        assert turn.text.count("I know that ") < 2
        assert turn.text.count("Also, ") < 2
        assert turn.text.count("Get well soon") < 2


def test_a_list_holds_no_item_twice(said: list[Turn]) -> None:
    for turn in said:
        if turn.role == "assistant":
            # Two clauses may each have a list of their own.
            for sentence in re.split(r"[.!?:]|, (?:and|but) ", turn.text):
                if re.fullmatch(r"[\w' ]+(, [\w' ]+)+ and [\w' ]+", sentence):
                    listed = re.split(r", | and ", sentence.lower())
                    assert len(listed) == len(set(listed)), sentence


def test_more_of_a_list_is_new() -> None:
    rng = Random(6)
    for _ in range(300):
        thread = ListTopic().thread(rng)
        text = " ".join(exchange.answer.lower() for exchange in thread)
        row = next(r for r in table("lists.table") if f"/{r['name']}/" in thread[0].key)
        for item in row["items"]:
            others = [i for i in row["items"] if i != item and item.lower() in i.lower()]
            assert others or len(re.findall(rf"\b{item.lower()}\b", text)) < 2, text


def test_the_hero_of_a_story_has_the_name_that_was_asked_for() -> None:
    n_named = 0
    for exchange in talks(StoryTopic().thread):
        asked = re.search(r"(?:called|named) ([A-Z][a-z]+)", exchange.question)
        if asked:
            n_named += 1
            assert asked[1] in exchange.answer
            known = {*names("women"), *names("men")}
            assert known & set(re.findall(r"\w+", exchange.answer)) == {asked[1]}
    assert n_named > 50


def test_what_is_told_is_remembered_and_what_is_not_told_is_not_known() -> None:
    rng = Random(7)
    for _ in range(200):
        thread = MemoryTopic(FACTS["animals"].thread).thread(rng)
        told: dict[str, str] = {}
        for exchange in thread:
            topic, group, value, form = exchange.key.split("/", 3)
            if topic == "memory" and form.startswith("?"):
                told[group] = value
            elif topic == "memory" and value != "-":
                assert told[group] in exchange.answer
            elif topic == "memory":
                assert group not in told
                assert re.search("not told me|do not know", exchange.answer)


def test_a_comparison_is_answered_with_the_word_of_the_question() -> None:
    for exchange in talks(ComparisonTopic().thread):
        word = re.search(r"\b(bigger|smaller|larger|heavier|lighter|longer)\b", exchange.question)
        if word and not exchange.answer.startswith("No"):
            assert word[1] in exchange.answer


def test_a_sentence_has_the_word_that_was_asked_for() -> None:
    for exchange in talks(WordTopic().thread, 1000):
        _, task, word, _ = exchange.key.split("/", 3)
        if task in ("uses", "two words"):
            assert re.search(rf"\b{word}\b", exchange.question, re.IGNORECASE)
            assert re.search(rf"\b{word}\b", exchange.answer), exchange.answer


def test_rhymes_are_as_many_as_asked_for_and_in_the_order_of_the_table() -> None:
    families = [items(row["words"]) for row in table("rhymes.table")]
    for exchange in talks(WordTopic().thread, 1000):
        found = re.search(r"(\w+) rhymes with ([\w, ]+)\.", exchange.answer)
        if not found:
            continue
        word, listed = found[1].lower(), re.split(", | and ", found[2])
        known = next([w for w in f if w != word] for f in families if word in f)
        assert listed == known[: len(listed)]
        asked = re.search(r"\b(\w+) (?:words|rhymes)\b", exchange.question)
        if asked and asked[1].lower() in COUNTS:
            count = COUNTS.index(asked[1].lower()) + 1
            assert len(listed) == min(count, len(known))
            assert (count > len(known)) == (" more" in exchange.answer.lower())


def test_a_poem_is_called_by_its_own_subject() -> None:
    for exchange in talks(PoemTopic().thread):
        title, _, second, *_ = exchange.answer.split("\n")
        section = next(s for s in sections("poems.forms") if title.endswith(f" about {s.name}:"))
        assert second.lower() in [a.split(" / ")[1].lower() for a in section.answers]


def test_what_is_not_known_is_not_named() -> None:
    for exchange in talks(UnknownTopic().thread, 1000):
        found = re.search(r"(not know|nothing|never learned|enough) about (\w+)", exchange.answer)
        assert found is None or found[2] in ("that", "code"), exchange.answer


def test_it_counts_to_ten_at_most() -> None:
    for exchange in talks(NumberTopic().thread, 1000):
        assert not re.search(r"\d", exchange.answer)
        assert not re.search(r"\b(eleven|twenty)\b", exchange.answer)


def test_yes_and_no_are_about_as_frequent() -> None:
    answers = [e.answer.split(",")[0] for e in talks(CheckTopic(FACTS).thread, 1000)]
    assert {"Yes", "No"} >= set(answers)
    assert 0.42 < answers.count("Yes") / len(answers) < 0.58


def test_paints_make_the_same_in_either_order() -> None:
    mixed = {frozenset((r["one"], r["two"])) for r in table("paints.table")}
    assert len(mixed) == len(table("paints.table"))


def test_where_food_comes_from_is_a_sentence() -> None:
    for row in table("foods.table"):
        assert re.match(r"(grows?|comes?|(is|are) made) ", str(row["origin"]))


def test_a_prompt_inside_of_a_message_is_found() -> None:
    openings = {normalised("Which birds sleep in trees?"), normalised("Hi")}
    assert holds("Hello! which birds sleep in trees", openings)
    assert holds("hi!", openings)
    assert not holds("Hi, which birds sleep?", openings)


@pytest.mark.parametrize(
    ("noun", "expected"),
    [("goldfish", "goldfish"), ("piece of furniture", "pieces of furniture"), ("fish", "fish")],
)
def test_plurals_of_fish_and_of_compounds(noun: str, expected: str) -> None:
    assert plural(noun) == expected
