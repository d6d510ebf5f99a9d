"""What a file's vocabulary says of its tokens, beside their texts: control tokens that mark the
thinking, and tokens that are never to be written."""

from pathlib import Path

import msgspec
import pytest

from engine.bench_models.gguf_writer import Metadata, i32s, strings
from engine.bench_models.tokenizer import N_VOCAB, byte_symbols, byte_tokenizer
from engine.engine import Engine
from engine.events import Finished, Piece
from engine.options import EngineOptions
from engine.request import Request
from engine.sampling import SamplingParams
from tests.helpers.family_models import head, usual_layer, usual_settings, write_model

N_EMBD = 64
THINK, END_OF_THINKING, CHANNEL, OTHER = 259, 260, 261, 262
CONTROL = ["<think>", "</think>", "<|channel>", "<|tool_call|>"]
OPTIONS = EngineOptions(store="memory", run_log=False, context=128)


def vocabulary(suppressed: list[int]) -> Metadata:
    """Single bytes and, among the specials, markers of the thinking as control tokens."""
    tokens = [*byte_symbols(), "<|endoftext|>", "<|im_start|>", "<|im_end|>", *CONTROL]
    n_unused = N_VOCAB - len(tokens)
    types = [1] * 256 + [3] * (len(tokens) - 256) + [5] * n_unused
    keys = byte_tokenizer() | {
        "tokenizer.ggml.tokens": strings([*tokens, *(f"<|unused_{i}|>" for i in range(n_unused))]),
        "tokenizer.ggml.token_type": i32s(types),
    }
    if suppressed:
        keys["tokenizer.ggml.suppress_tokens"] = i32s(suppressed)
    return keys


def model(suppressed: list[int]) -> Path:
    settings = usual_settings(1, N_EMBD, 2, 1, 4, 2) | {"feed_forward_length": 32}
    tensors = [*head(N_EMBD), *usual_layer(0, N_EMBD, 2, 1, 4, 32)]
    return write_model("llama", settings, tensors, vocabulary=vocabulary(suppressed))


def reply_of(suppressed: list[int], params: SamplingParams) -> tuple[str, list[int]]:
    """Text and tokens of a reply of 12 tokens."""
    params = msgspec.structs.replace(params, max_tokens=12, ignore_end=True)
    text = ""
    tokens: list[int] = []
    with Engine.open(model(suppressed), OPTIONS) as engine:
        engine.submit(Request(prompt="Hello", params=params))
        while engine.wait(60.0):
            for event in engine.poll():
                if isinstance(event, Piece):
                    text += event.text
                    tokens += event.tokens
                elif isinstance(event, Finished):
                    assert event.reason == "length", event.detail
                    return text, tokens
    raise AssertionError("the reply did not end")


@pytest.mark.parametrize(
    ("token", "text"),
    [(THINK, "<think>"), (END_OF_THINKING, "</think>"), (CHANNEL, "<|channel>"), (OTHER, "")],
)
def test_control_tokens_have_a_text_where_they_mark_the_thinking(token: int, text: str) -> None:
    others = [other for other in range(N_VOCAB) if other != token]
    assert reply_of(others, SamplingParams()) == (12 * text, [token] * 12)


def test_suppressed_tokens_are_never_written() -> None:
    for params in (
        SamplingParams(temperature=0.0),
        SamplingParams(temperature=0.0, repeat_penalty=1.1),
        SamplingParams(temperature=5.0, top_p=1.0, min_p=0.0),
    ):
        _, tokens = reply_of([], params)
        likely = sorted(set(tokens))
        _, others = reply_of(likely, params)
        assert not set(others) & set(likely)


def test_a_grammar_does_not_bring_suppressed_tokens_back() -> None:
    _, tokens = reply_of([ord("a")], SamplingParams(grammar='root ::= ("a" | "b"){12}'))
    assert set(tokens) == {ord("b")}
