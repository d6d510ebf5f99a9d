"""The tokenizer: byte-level BPE, words cut as Qwen2 cuts them."""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from recipe.chatml import SPECIALS, chat_text, heading
from recipe.corpus import Conversation

# llama.cpp's "qwen2": what GGUF's tokenizer.ggml.pre promises.
PRE = "qwen2"
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def train_tokenizer(corpus: Iterable[Conversation], n_vocab: int) -> Tokenizer:
    """A tokenizer with exactly `n_vocab` tokens. Raises ValueError when the corpus has too few."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=n_vocab,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = (f"{turn.role}\n{turn.text}" for conversation in corpus for turn in conversation)
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() != n_vocab:
        raise ValueError(f"the corpus gives {tokenizer.get_vocab_size()} tokens, not {n_vocab}")
    return tokenizer


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer that was saved at `path`."""
    return Tokenizer.from_file(str(path))


def encode(tokenizer: Tokenizer, conversation: Conversation) -> tuple[list[int], list[bool]]:
    """The conversation's tokens, and which of them an assistant says (its <|im_end|> included)."""
    tokens: list[int] = []
    said: list[bool] = []
    for turn in conversation:
        n_before = len(tokenizer.encode(heading(turn.role)).ids)
        ids = tokenizer.encode(chat_text((turn,))).ids
        is_assistant = turn.role == "assistant"
        # The newline after <|im_end|> is the template's.
        said += [False] * n_before + [is_assistant] * (len(ids) - n_before - 1) + [False]
        tokens += ids
    return tokens, said
