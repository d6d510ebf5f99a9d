"""The texts around a model's thinking, of all models, and those that one model has as tokens."""

from typing import Protocol

import msgspec

from engine import errors, native


class Markers(msgspec.Struct, frozen=True, kw_only=True):
    """How one kind of model sets its thinking apart.

    Attributes:
        opens, closes: The texts around the thinking.
        is_token: A special token of the model, which nobody writes by accident.
        may_be_implied: The prompt may already have opened it, so the reply only closes it.
    """

    opens: str
    closes: tuple[str, ...]
    is_token: bool = False
    may_be_implied: bool = False


MARKERS = (
    # DeepSeek R1 and later, Qwen 3, GLM 4.5 and later, MiniMax, Nemotron, Kimi K2, Hunyuan, Ernie
    Markers(opens="<think>", closes=("</think>",), may_be_implied=True),
    Markers(opens="<thinking>", closes=("</thinking>",)),
    # gpt-oss: channels; what follows the analysis is the channel called final
    Markers(
        opens="<|channel|>analysis<|message|>",
        closes=("<|end|>", "<|channel|>final<|message|>"),
        is_token=True,
    ),
    # Gemma 4
    Markers(opens="<|channel>thought\n", closes=("<channel|>",), is_token=True),
    # Magistral, Mistral Small 4
    Markers(opens="[THINK]", closes=("[/THINK]",), is_token=True, may_be_implied=True),
    # Seed-OSS
    Markers(opens="<seed:think>", closes=("</seed:think>",), may_be_implied=True),
    # Cohere Command
    Markers(opens="<|START_THINKING|>", closes=("<|END_THINKING|>",), is_token=True),
    # Kimi VL
    Markers(opens="◁think▷", closes=("◁/think▷",), is_token=True),
)


class Vocabulary(Protocol):
    """What of an open model is asked here: see engine/_native.pyi."""

    def tokenize(
        self, text: str, add_special: bool = True, parse_special: bool = True
    ) -> list[int]:
        """The tokens of a text."""
        ...

    def token_piece(self, token: int, special: bool = False) -> bytes:
        """What a token stands for."""
        ...

    def is_end(self, token: int) -> bool:
        """Whether a reply ends with the token."""
        ...


def hidden_markers(vocabulary: Vocabulary) -> dict[int, bytes]:
    """Tokens of markers that the file calls control tokens, which have no text, with their text."""
    found: dict[int, bytes] = {}
    for marker in {text for each in MARKERS for text in (each.opens, *each.closes)}:
        try:
            with native.translated():
                tokens = vocabulary.tokenize(marker, False, True)
        except errors.InvalidRequestError:
            continue  # characters that this vocabulary cannot write
        for token in tokens:
            text = vocabulary.token_piece(token, True)
            hidden = text and not vocabulary.token_piece(token, False)
            if hidden and text in marker.encode() and not vocabulary.is_end(token):
                found[token] = text
    return found
