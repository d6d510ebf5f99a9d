"""Everything from nothing: data, tokenizer, rows, training, GGUF.

Evaluation and card come after it, where Runahead is installed. What is there already is not made
again, and training goes on where it was stopped; but what another recipe made is refused.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from recipe.convert import write_gguf
from recipe.corpus import conversations
from recipe.made_of import StaleFolderError, claim
from recipe.packing import pack_rows
from recipe.shape import Shape
from recipe.tokenizer import load_tokenizer, train_tokenizer
from recipe.train import Settings, load_values, train

_TOKENIZER_SEED, _ROWS_SEED = 1, 3
_N_TOKENIZER = 30_000  # conversations
SHORT, LONG = 256, 512  # tokens of a row


def build(folder: Path, model: Path, settings: Settings) -> None:
    """Make the model, keeping what lies between in `folder`.

    Raises StaleFolderError when that was made by another recipe or for other settings.
    """
    claim(folder, asdict(settings))
    tokenizer = _tokenizer(folder / "tokenizer.json")
    _make_rows(folder, settings)
    final = folder / "final.pt"
    if not final.exists():
        train(folder, settings)
    write_gguf(model, load_values(final), tokenizer)


def _tokenizer(path: Path) -> Tokenizer:
    if not path.exists():
        print("Making the tokenizer", flush=True)
        corpus = islice(conversations("train", _TOKENIZER_SEED), _N_TOKENIZER)
        train_tokenizer(corpus, Shape().n_vocab).save(str(path))
    return load_tokenizer(path)


def _make_rows(folder: Path, settings: Settings) -> None:
    """As many as training reads, which sees each once; short and long ones side by side."""
    n_short = settings.n_short_step * (settings.batch_tokens // SHORT)
    n_long = (settings.n_step - settings.n_short_step) * (settings.batch_tokens // LONG)
    kinds = (("short", SHORT, n_short, _ROWS_SEED), ("long", LONG, n_long, _ROWS_SEED + 1))
    with ProcessPoolExecutor(len(kinds)) as pool:
        for made in [pool.submit(_make_kind, folder, *kind) for kind in kinds]:
            made.result()


def _make_kind(folder: Path, name: str, n_token: int, n_row: int, seed: int) -> None:
    path = folder / f"{name}.npz"
    if not path.exists():
        print(f"Writing {n_row * n_token / 1e6:.1f} million tokens in {name} rows", flush=True)
        tokenizer = load_tokenizer(folder / "tokenizer.json")
        pack_rows(tokenizer, conversations("train", seed), n_token, n_row).save(path)


def main() -> None:
    """Build the model that ships."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for what lies between: rows, checkpoints, log")
    parser.add_argument("model", type=Path, help="the GGUF")
    parser.add_argument("--steps", type=int, default=Settings.n_step)
    arguments = parser.parse_args()
    try:
        build(arguments.folder, arguments.model, Settings(n_step=arguments.steps))
    except StaleFolderError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
