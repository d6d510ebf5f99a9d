"""Packs conversations into rows."""

from collections.abc import Iterator

import numpy as np
from tokenizers import Tokenizer

from recipe.chatml import END_OF_TEXT
from recipe.corpus import Conversation
from recipe.rows import Rows
from recipe.tokenizer import encode


def pack_rows(
    tokenizer: Tokenizer, corpus: Iterator[Conversation], n_token: int, n_row: int
) -> Rows:
    """`n_row` rows of `n_token` + 1 tokens.

    Each begins with a new conversation; <|endoftext|> parts it from those after it, so that nobody
    learns to forget what stands in the same chat, and the last is cut off.
    """
    end_of_text = tokenizer.token_to_id(END_OF_TEXT)
    tokens = np.zeros((n_row, n_token + 1), np.uint16)
    said = np.zeros((n_row, n_token + 1), np.bool_)
    for row in range(n_row):
        filled = 0
        while filled <= n_token:
            if filled:
                tokens[row, filled] = end_of_text
                filled += 1
            ids, by_assistant = encode(tokenizer, next(corpus))
            end = min(filled + len(ids), n_token + 1)
            tokens[row, filled:end] = ids[: end - filled]
            said[row, filled:end] = by_assistant[: end - filled]
            filled = end
    return Rows(tokens, said)
