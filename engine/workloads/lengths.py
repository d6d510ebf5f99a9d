"""Texts as prompts of one length, so that runs can be compared."""

from collections.abc import Callable, Iterable, Iterator

Prompt = tuple[int, ...]
Tokenize = Callable[[str], list[int]]

# Of a text longer than this times the wanted tokens the rest is not tokenized.
_MOST_CHARACTERS_PER_TOKEN = 16


def cut(texts: Iterable[Iterator[str]], n: int, n_tokens: int, tokenize: Tokenize) -> list[Prompt]:
    """The first `n` distinct prompts of exactly `n_tokens` tokens.

    Each text comes in pieces, of which as many are read as it takes; one that is too short, or the
    same as an earlier one, is left out. There may be fewer than `n`.
    """
    found: dict[Prompt, None] = {}
    for pieces in texts:
        if len(found) == n:
            break
        text = ""
        tokens: list[int] = []
        for piece in pieces:
            text += piece
            if len(text) < n_tokens:  # a token has at least one character
                continue
            tokens = tokenize(text[: n_tokens * _MOST_CHARACTERS_PER_TOKEN])
            if len(tokens) >= n_tokens:
                found[tuple(tokens[:n_tokens])] = None
                break
    return list(found)
