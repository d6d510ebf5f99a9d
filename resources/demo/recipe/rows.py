"""Rows of equal length, packed from conversations: what training reads."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_USER_WEIGHT = 0.3  # of a token that the assistant does not say: questions cannot be foreseen


class Rows:
    """tokens: uint16 [n_row, n_token + 1]; weights: float32 of the same shape."""

    def __init__(self, tokens: NDArray[np.uint16], said: NDArray[np.bool_]) -> None:
        self.tokens = tokens
        self._said = said

    def __len__(self) -> int:
        return len(self.tokens)

    def weights(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """What the loss of each token of `rows` counts."""
        return np.where(self._said[rows], np.float32(1), np.float32(_USER_WEIGHT))

    def save(self, path: Path) -> None:
        """Write them to `path`."""
        partial = path.with_suffix(".partial.npz")
        np.savez(partial, tokens=self.tokens, said=self._said)
        partial.replace(path)

    @staticmethod
    def load(path: Path) -> "Rows":
        """The rows that were saved at `path`."""
        with np.load(path) as file:
            return Rows(file["tokens"], file["said"])
