"""Items are found in whatever people paste and models answer; results leave in three formats."""

import csv
import io
import json
import time

import pytest

from app.chat.export import as_markdown as chat_as_markdown
from app.chat.export import ended
from app.chat.markdown import Block, BlockSplitter
from app.data.conversation import Conversation, Message
from app.data.task import Task
from app.subtasks.export import Result, as_csv, as_jsonl, as_markdown
from app.subtasks.grouping import grouped, pieces
from app.subtasks.item_lists import items_of_lines, items_of_paste, items_of_reply, text_of
from app.subtasks.prompt import item_text, messages


@pytest.mark.parametrize(
    ("pasted", "items"),
    [
        ("Rome\n\n  Paris \nBerlin", ["Rome", "Paris", "Berlin"]),
        ("- Rome\n- Paris\n  with a river\n- [ ] Berlin", ["Rome", "Paris with a river", "Berlin"]),
        ("1. Rome\n2) Paris\n10. Berlin", ["Rome", "Paris", "Berlin"]),
        ("Paris, France\nRome, Italy", ["Paris, France", "Rome, Italy"]),
        ("Paris,France\nRome,Italy", ["Paris — France", "Rome — Italy"]),
        (
            "city,founded\nRome,-753\nBonn,11",
            ["city: Rome; founded: -753", "city: Bonn; founded: 11"],
        ),
        ('name,says\nAda,"a, b\nc"\nBob,d', ["Ada — a, b c", "Bob — d"]),
        ("a\tb c\nd\te f", ["a — b c", "d — e f"]),
        ("| City | Year |\n| --- | ---: |\n| Rome | 753 |", ["City: Rome; Year: 753"]),
        ('["Rome", "Paris"]', ["Rome", "Paris"]),
        ("[not json\nat all", ["[not json", "at all"]),
        ("3.14 is pi", ["3.14 is pi"]),
        ("", []),
    ],
)
def test_pasted_text_becomes_items(pasted: str, items: list[str]) -> None:
    if pasted.startswith("name,says"):
        items = ["name: Ada; says: a, b c", "name: Bob; says: d"]
    assert items_of_paste(pasted) == items


@pytest.mark.parametrize(
    "reply",
    [
        '["History of Rome", "Food in Rome"]',
        'Sure! Here it is:\n```json\n["History of Rome", "Food in Rome"]\n```\nGood luck.',
        '<think>maybe ["wrong"]</think>\n["History of Rome", "Food in Rome"]',
        '{"parts": ["History of Rome", "Food in Rome"]}',
        "The parts are:\n\n1. **History of Rome**\n2. Food in Rome",
        "- History of Rome\n- Food in Rome\n",
        '["History of Rome", "Food in Rome", "cut o',
        "History of Rome\nFood in Rome",
    ],
)
def test_parts_are_found_however_a_model_lays_them_out(reply: str) -> None:
    assert items_of_reply(reply) == ["History of Rome", "Food in Rome"]


def test_a_reply_without_parts_has_none() -> None:
    assert items_of_reply("I cannot split this.") == []
    assert items_of_reply("") == []
    assert items_of_reply("[]") == []


def test_lines_are_items_as_they_are() -> None:
    assert items_of_lines(" 1. keep this number \n\n- and this") == [
        "1. keep this number",
        "- and this",
    ]


def task(prompt: str, **fields: object) -> Task:
    return Task(id="t", title="Cities", prompt=prompt, **fields)  # type: ignore[arg-type]


def test_the_item_goes_to_its_place_or_to_the_end() -> None:
    assert item_text(task("What of {item}? {item}!"), "Rome") == "What of Rome? Rome!"
    assert item_text(task("Sum up:\n"), "Rome") == "Sum up:\n\nRome"
    assert item_text(task("A guide", is_split=True), "Food").startswith("A guide\n\nDo only")
    assert [each.role for each in messages("Be brief.", "x")] == ["system", "user"]
    assert [each.role for each in messages("  ", "x")] == ["user"]


RESULTS = [
    Result(item="Rome", state="done", text="# Big\n\n```\n# code\n```", n_tokens=7, model="m"),
    Result(item="=1+1", state="failed", text="", detail="The disk is full."),
]


@pytest.mark.parametrize("text", ["[" * 50_000, '[{"a":' * 20_000, "```" * 10_000])
def test_a_list_that_a_model_opens_for_ever_is_read_at_once_and_without_a_fault(text: str) -> None:
    begun = time.perf_counter()
    items_of_reply(text)
    items_of_paste(text)
    assert time.perf_counter() - begun < 1


@pytest.mark.parametrize("depth", range(900, 1000, 3))
def test_lists_in_lists_are_no_fault_however_deep(depth: int) -> None:
    text = "[" * depth + "]" * depth
    assert len(items_of_paste(text)) == 1
    assert len(items_of_reply(text)) <= 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_file_is_read_in_the_encoding_that_it_has(encoding: str) -> None:
    assert text_of("Malmö\nÎle de Ré".encode(encoding)) == "Malmö\nÎle de Ré"


def test_markdown_has_a_heading_per_item_and_keeps_code_as_it_is() -> None:
    text = as_markdown(task("About {item}\nplease"), RESULTS, "All in all.")
    assert text.startswith("# Cities\n\n> About {item}\n> please\n\n## Summary\n\nAll in all.")
    assert "## Rome\n\n### Big\n\n```\n# code\n```" in text
    assert "*Failed. The disk is full.*" in text


def test_csv_can_be_read_back_and_holds_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(RESULTS).removeprefix("\ufeff"))))
    assert [row["item"] for row in rows] == ["Rome", "'=1+1"]
    assert rows[0]["text"] == RESULTS[0].text


def test_jsonl_has_an_object_per_line() -> None:
    lines = [json.loads(line) for line in as_jsonl(RESULTS).splitlines()]
    assert [line["item"] for line in lines] == ["Rome", "=1+1"]
    assert lines[0]["n_tokens"] == 7


def test_groups_hold_everything_and_no_more_than_fits() -> None:
    results = [(f"item {n}", "word " * n * 10) for n in range(20)]
    groups = grouped(results, 400)
    assert len(groups) > 2
    for group in groups:
        assert sum(len(item) + len(text) + 8 for item, text in group) <= 400
    together = "".join(text for group in groups for _, text in group)
    assert together == "".join(text for _, text in results)


def test_a_long_text_is_cut_between_words() -> None:
    assert pieces("one two three four", 10) == ["one two ", "three four"]
    assert pieces("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_markdown_says_of_an_answer_that_it_is_not_whole() -> None:
    results = [
        Result(item="Rome", state="stopped", text="It is"),
        Result(item="Paris", state="done", text="Large", detail="Cut off at 9 tokens."),
        Result(item="Oslo", state="done", text="Small"),
    ]
    assert as_markdown(task("About"), results).endswith(
        "## Rome\n\nIt is\n\n*Stopped.*\n\n## Paris\n\nLarge\n\n*Cut off at 9 tokens.*\n\n"
        "## Oslo\n\nSmall\n"
    )


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("```py\nx = 1", "\n```"),
        ("Look:\n\n  ~~~~\nx\n~~~", "\n~~~~"),
        ("```", "\n```"),
        ("```\nx\n```", ""),
        ("```\nx\n`````", ""),
        ("````\n```\nx\n```\n````", ""),
        ("```\nx\n    ```", "\n```"),
        ("- ```\n  x\n  ```\n- y", ""),
        ("- ```\n  x", ""),
        ("    indented", ""),
        ("plain", ""),
        ("", ""),
    ],
)
def test_code_that_a_reply_was_cut_off_in_does_not_go_on_below_it(text: str, end: str) -> None:
    assert ended(text) == text + end
    chat = Conversation(id="c", title="T")
    messages = [
        Message(id="1", conversation="c", role="assistant", text=text),
        Message(id="2", conversation="c", role="user", text="Go on"),
    ]
    headings = [block.source for block in blocks(chat_as_markdown(chat, messages))]
    assert [each.strip() for each in headings if each.startswith("## You")] == ["## You"]


def blocks(text: str) -> list[Block]:
    splitter = BlockSplitter()
    splitter.feed(text, is_final=True)
    return splitter.blocks
