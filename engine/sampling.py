"""SamplingParams: how a reply's tokens are chosen and when it ends."""

import re

import msgspec

from engine.errors import InvalidRequestError

# As the native reader's (exec/grammar_check.h), which says all else that is wrong with a grammar:
# these are told already where one is written down.
MAX_GRAMMAR_BYTES = 1 << 16
MAX_GRAMMAR_DEPTH = 200
# Literals, character classes and comments of GBNF, in which parentheses stand for themselves.
_NO_STRUCTURE = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#[^\r\n]*', re.DOTALL)


class SamplingParams(msgspec.Struct, frozen=True, kw_only=True):
    """The same values, seed and prompt give the same reply, whatever runs beside it.

    Attributes:
        max_tokens: Most tokens of the reply.
        temperature: 0 always takes the likeliest token.
        seed: Of this request's random numbers.
        stop: The reply ends before the first of these strings.
        grammar: GBNF that the reply must follow; "" for none.
        ignore_end: Go on after the model's end token (benchmarks).
    """

    max_tokens: int = 512
    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    grammar: str = ""
    ignore_end: bool = False

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("max_tokens", self.max_tokens, 1, 2**31 - 1),
            ("temperature", self.temperature, 0, 100),
            ("top_k", self.top_k, 0, 2**31 - 1),
            ("top_p", self.top_p, 0, 1),
            ("min_p", self.min_p, 0, 1),
            ("repeat_penalty", self.repeat_penalty, 0.1, 10),
            ("seed", self.seed, 0, 2**32 - 1),
        ):
            if not low <= value <= high:  # False for NaN too
                raise InvalidRequestError(f"{name} is {value}; it must be from {low} to {high}")
        if any(not text for text in self.stop):
            raise InvalidRequestError("A stop string is empty; leave it out or give it some text")
        if self.grammar:
            _check_grammar(self.grammar)


def _check_grammar(text: str) -> None:
    try:
        n_bytes = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequestError("The grammar holds half a character; write it anew") from error
    if n_bytes > MAX_GRAMMAR_BYTES:
        raise InvalidRequestError(
            f"The grammar has {n_bytes} bytes; it may have up to {MAX_GRAMMAR_BYTES}"
        )
    depth = 0
    for bracket in re.findall(r"[()]", _NO_STRUCTURE.sub("", text)):
        depth = depth + 1 if bracket == "(" else max(0, depth - 1)
        if depth > MAX_GRAMMAR_DEPTH:
            raise InvalidRequestError(
                f"The grammar nests parentheses more than {MAX_GRAMMAR_DEPTH} deep"
            )
