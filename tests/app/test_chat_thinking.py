"""Thinking is told from answers, for every family, also while a reply grows."""

import re

import pytest

from app.chat import thinking
from app.chat.history import turns
from app.chat.thinking import Part, answer_of, split_thinking
from app.data.conversation import Message

FAMILIES = [
    "<think>\nhm\n</think>\n\nanswer",
    "<thinking>hm</thinking>answer",
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>answer<|return|>",
    "<|channel|>analysis<|message|>hm<|channel|>final<|message|>answer",
    "<|channel>thought\nhm<channel|>answer",
    "[THINK]hm[/THINK]answer",
    "<seed:think>hm</seed:think>answer",
    "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>answer<|END_RESPONSE|>",
    "◁think▷hm◁/think▷answer",
    "hm</think>answer",
]


@pytest.mark.parametrize("reply", FAMILIES)
def test_every_familys_markers_set_thinking_apart(reply: str) -> None:
    assert split_thinking(reply) == [Part(True, "hm"), Part(False, "answer")]
    assert answer_of(reply) == "answer"


@pytest.mark.parametrize("reply", FAMILIES)
def test_no_marker_is_ever_shown_while_a_reply_grows(reply: str) -> None:
    for n in range(len(reply) + 1):
        for part in split_thinking(reply[:n], is_final=False):
            assert part.text.strip() in "answer" or "hm".startswith(part.text.strip())


def test_thinking_that_has_not_ended_is_open() -> None:
    assert split_thinking("<think>\nso far", is_final=False) == [Part(True, "so far", True)]


def test_a_reply_that_never_ends_its_thinking_has_no_answer() -> None:
    assert answer_of("<think>and on and on") == ""


@pytest.mark.parametrize(
    "reply",
    [
        "Write `<think>` before it and `</think>` after it.",
        "```\n<think>\nx\n</think>\n```\ndone",
        "a < b and [x](y) <| |> end<",
        "It says <think> in the middle.",
    ],
)
def test_text_that_speaks_of_markers_stays_as_it_is(reply: str) -> None:
    assert split_thinking(reply) == [Part(False, reply)]


def test_a_model_may_think_between_answers() -> None:
    reply = "<think>a</think>one\n<think>b</think>two"
    found = [(part.is_thinking, part.text.strip()) for part in split_thinking(reply)]
    assert found == [(True, "a"), (False, "one"), (True, "b"), (False, "two")]


class Counted:
    """Counts the characters that a pattern is asked about."""

    def __init__(self, pattern: re.Pattern[str]):
        self._pattern = pattern
        self.n = 0

    def findall(self, text: str) -> list[str]:
        self.n += len(text)
        return self._pattern.findall(text)

    def match(self, text: str) -> re.Match[str] | None:
        self.n += len(text)
        return self._pattern.match(text)


@pytest.mark.parametrize(
    "text",
    [
        "</think>",
        "a </think>\n",
        "x <think> ",
        "`</think>`",
        "word <|end|>",
        "<think>a</think>\nb\n",
    ],
)
@pytest.mark.parametrize("begin", ["", "</think>", "<think>a</think>", "```\n"])
def test_many_markers_are_no_more_work_than_so_much_text(
    monkeypatch: pytest.MonkeyPatch, begin: str, text: str
) -> None:
    counted = Counted(thinking._FENCE)
    monkeypatch.setattr(thinking, "_FENCE", counted)
    reply = begin + text * 1000
    assert split_thinking(reply)
    assert counted.n <= 3 * len(reply)


def test_the_model_is_not_told_what_it_thought() -> None:
    path = [
        Message(id="1", conversation="c", role="user", text="q"),
        Message(id="2", conversation="c", role="assistant", text="<think>secret</think>a"),
    ]
    told = turns(path, "Be brief.")
    assert [(turn.role, turn.content) for turn in told] == [
        ("system", "Be brief."),
        ("user", "q"),
        ("assistant", "a"),
    ]


def test_turns_alternate_where_a_reply_gave_nothing() -> None:
    path = [
        Message(id="1", conversation="c", role="user", text="first"),
        Message(id="2", conversation="c", role="assistant", text="", state="failed"),
        Message(id="3", conversation="c", role="user", text="second"),
    ]
    assert [(turn.role, turn.content) for turn in turns(path)] == [("user", "first\n\nsecond")]
