"""A reply ends with any of a vocabulary's end tokens, and with no other special token."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from engine._native import Engine
from engine.bench_models.gguf_writer import Metadata, i32s, strings, u32
from engine.bench_models.tokenizer import N_VOCAB, byte_symbols, byte_tokenizer
from tests.helpers.family_models import head, usual_layer, usual_settings, write_model
from tests.helpers.native_runs import finish, open_engine

CONTROL, UNUSED = 3, 5
FIRST = 256  # the first special token; those before are bytes
PLAIN = ["<A>", "<B>", "<C>", "<D>"]  # names from which nothing follows
HARMONY = ["<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>", "<|call|>"]


def vocabulary(specials: Sequence[str], **ids: str) -> Metadata:
    """Bytes and control tokens; `ids` say which of these is eos, eot or eom."""
    n_unused = N_VOCAB - FIRST - len(specials)
    named = {
        f"tokenizer.ggml.{key}_token_id": u32(FIRST + specials.index(token))
        for key, token in ids.items()
    }
    return {
        **byte_tokenizer(),
        "tokenizer.ggml.tokens": strings(
            [*byte_symbols(), *specials, *(f"<|unused_{i}|>" for i in range(n_unused))]
        ),
        "tokenizer.ggml.token_type": i32s(
            [1] * FIRST + [CONTROL] * len(specials) + [UNUSED] * n_unused
        ),
        **named,
    }


@contextmanager
def opened(vocabulary: Metadata) -> Iterator[Engine]:
    tensors = [*head(64), *usual_layer(0, 64, 2, 1, 4, 32)]
    settings = usual_settings(1, 64, 2, 1, 4, 2) | {
        "feed_forward_length": 32,
        "attention.layer_norm_rms_epsilon": 1e-6,
    }
    engine = open_engine(write_model("llama", settings, tensors, vocabulary=vocabulary))
    yield engine
    engine.close()


def reply(engine: Engine, tokens: list[int], ignore_end: bool = False) -> tuple[str, list[int]]:
    """How and after which tokens a request ends whose model chooses `tokens`."""
    request = engine.submit([65], forced=tokens, max_tokens=len(tokens), ignore_end=ignore_end)
    ended = finish(engine, [request])[request]
    return ended.reason, ended.tokens


def test_end_of_sequence_of_turn_and_of_message_each_end_a_reply() -> None:
    with opened(vocabulary(PLAIN, eos="<A>", eot="<B>", eom="<C>")) as engine:
        for end in (FIRST, FIRST + 1, FIRST + 2):
            assert engine.is_end(end)
            tokens = [66, 67, end, 68]
            assert reply(engine, tokens) == ("stop", [66, 67])
            assert reply(engine, tokens, ignore_end=True) == ("length", tokens)


def test_another_special_token_does_not_end_a_reply() -> None:
    with opened(vocabulary(PLAIN, eos="<A>", eot="<B>", eom="<C>")) as engine:
        tokens = [66, 67, FIRST + PLAIN.index("<D>"), 68]
        assert reply(engine, tokens) == ("length", tokens)


def test_a_harmony_reply_has_several_messages_and_ends_with_return_or_call() -> None:
    end, message = FIRST + HARMONY.index("<|end|>"), FIRST + HARMONY.index("<|message|>")
    with opened(vocabulary(HARMONY, eos="<|return|>")) as engine:
        for last in ("<|return|>", "<|call|>"):
            tokens = [66, end, message, 67, FIRST + HARMONY.index(last), 68]
            assert reply(engine, tokens) == ("stop", [66, end, message, 67])


def test_where_no_token_returns_end_ends_the_reply() -> None:
    specials = ["<|user|>", "<|end|>", "<|assistant|>", "<|endoftext|>"]
    with opened(vocabulary(specials, eos="<|endoftext|>")) as engine:
        assert reply(engine, [66, FIRST + specials.index("<|end|>"), 67]) == ("stop", [66])
