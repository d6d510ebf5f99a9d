"""The demo model's small tasks with words: tables are right, and answers follow from them."""

import re
from random import Random

import pytest
from recipe.corpus.forms import items, table
from recipe.corpus.turn import Exchange
from recipe.corpus.words import WordTopic, pairs, rare_words, unknown_word, uses

DECLINED = re.compile(r"sorry", re.IGNORECASE)


def exchanges() -> list[Exchange]:
    found = [e for seed in range(3000) for e in WordTopic().thread(Random(seed))]
    # A poem may follow.
    return [e for e in found if not e.key.startswith("poems/")]


def has(word: str, sentence: str) -> bool:
    return re.search(rf"\b{word}\b", sentence, re.IGNORECASE) is not None


def test_each_sentence_of_the_table_has_its_word() -> None:
    for word, sentences in uses().items():
        assert len(sentences) <= 2
        for sentence in sentences:
            assert has(word, sentence), (word, sentence)
            assert len(sentence.split()) <= 12, sentence


def test_each_sentence_with_two_words_has_both() -> None:
    for row in table("two_words.table"):
        assert all(has(word, str(row["sentence"])) for word in str(row["name"]).split()), row


def test_a_sentence_has_the_word_that_was_asked_for_or_is_declined() -> None:
    declined = told = 0
    for exchange in exchanges():
        _, task, word, _ = exchange.key.split("/", 3)
        if task == "uses":
            assert has(word, exchange.question), exchange
            known = word in uses()
            assert known == (DECLINED.search(exchange.answer) is None), exchange
            assert known == has(word, exchange.answer) or not known, exchange
            declined, told = declined + (not known), told + known
    assert 0.1 < declined / (declined + told) < 0.4


def test_a_word_without_an_answer_is_not_named() -> None:
    for exchange in exchanges():
        _, task, word, _ = exchange.key.split("/", 3)
        if task in ("opposites", "plurals", "pasts", "synonyms"):
            known = pairs(task).get(word)
            if known:
                assert exchange.answer.endswith(f"{word} is {known}."), exchange
            else:
                assert DECLINED.search(exchange.answer), exchange


def test_rhymes_are_in_one_family_each() -> None:
    words = [word for row in table("rhymes.table") for word in items(row["words"])]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("task", ["uses", "rhyme", "opposites", "plurals", "pasts", "synonyms"])
def test_a_word_of_no_table_is_unknown(task: str) -> None:
    known = uses() if task == "uses" else () if task == "rhyme" else pairs(task)
    rng = Random(1)
    assert not [w for w in (unknown_word(rng, task) for _ in range(500)) if w in known]


def test_rare_words_are_many() -> None:
    assert len(rare_words()) > 250


def test_irregular_plurals_and_pasts_are_right() -> None:
    plurals = {"quiz": "quizzes", "stomach": "stomachs", "snowman": "snowmen", "roof": "roofs"}
    assert {noun: pairs("plurals")[noun] for noun in plurals} == plurals
    pasts = {"teach": "taught", "bring": "brought", "catch": "caught", "stop": "stopped"}
    assert {verb: pairs("pasts")[verb] for verb in pasts} == pasts
