"""How the demo model is made: nothing old passes for new, and the card says what was found."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "demo"))

from recipe.card import card
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
    assert "readers found" not in text
    assert "{" not in text and "](" not in text  # no place is left open, and no link to nowhere


def test_the_card_says_what_a_reader_found() -> None:
    text = card(results(), TRAINED, {"0": 1, "0.7": 0}, {"0": 0, "0.7": None})
    for found in (
        "1 of 1 at temperature 0 and 0 of 1 at temperature 0.7",
        "0 of 1 at temperature 0",
    ):
        assert f"readers found {found} grammatical and on topic" in text
