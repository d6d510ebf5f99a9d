"""Baselines: how well words are foreseen from their frequency, and from the two before them."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np


class Unigram:
    """Tokens by their frequency, one added to each count."""

    def __init__(self, corpus: Iterable[Sequence[int]], n_vocab: int) -> None:
        counts = np.ones(n_vocab)
        for tokens in corpus:
            np.add.at(counts, tokens, 1)
        self._chances = counts / counts.sum()

    def chances(self, tokens: Sequence[int]) -> list[float]:
        """Of each token but the first."""
        return [float(self._chances[token]) for token in tokens[1:]]


class Trigram:
    """Interpolated, modified Kneser-Ney (Chen and Goodman, 1999), over tokens.

    Each order takes one of three discounts from its counts, by the counts of counts, and gives what
    it took to the order below, whose counts are of distinct contexts; below all is 1/n_vocab.
    """

    def __init__(self, corpus: Iterable[Sequence[int]], n_vocab: int) -> None:
        threes: Counter[tuple[int, ...]] = Counter()
        starts: Counter[tuple[int, ...]] = Counter()  # pairs with nothing before them
        for tokens in corpus:
            starts[tuple(tokens[:2])] += 1
            threes.update(zip(tokens, tokens[1:], tokens[2:], strict=False))
        twos = Counter(starts)
        twos.update(three[1:] for three in threes)
        ones = Counter(two[1:] for two in twos)
        self._orders = [_Order(ones), _Order(twos), _Order(threes)]
        self._n_vocab = n_vocab

    def chances(self, tokens: Sequence[int]) -> list[float]:
        """Of each token but the first."""
        return [self._chance(tuple(tokens[max(0, i - 2) : i + 1])) for i in range(1, len(tokens))]

    def _chance(self, gram: tuple[int, ...]) -> float:
        chance = 1 / self._n_vocab
        for n in range(1, len(gram) + 1):
            chance = self._orders[n - 1].chance(gram[-n:], chance)
        return chance


class _Order:
    """The counts of one order, with their discounts."""

    def __init__(self, counts: Counter[tuple[int, ...]]) -> None:
        self._counts = counts
        self._total: Counter[tuple[int, ...]] = Counter()
        kinds: dict[tuple[int, ...], list[int]] = {}
        for gram, count in counts.items():
            self._total[gram[:-1]] += count
            kinds.setdefault(gram[:-1], [0, 0, 0])[min(count, 3) - 1] += 1
        n = Counter(counts.values())
        y = n[1] / max(1, n[1] + 2 * n[2])
        self._discounts = [
            min(max(0.0, k - (k + 1) * y * n[k + 1] / max(1, n[k])), k) for k in (1, 2, 3)
        ]
        self._given = {
            context: sum(d * k for d, k in zip(self._discounts, counted, strict=True))
            for context, counted in kinds.items()
        }

    def chance(self, gram: tuple[int, ...], below: float) -> float:
        """The chance of the last token; `below`: that of the order below."""
        context = gram[:-1]
        total = self._total.get(context, 0)
        if total == 0:
            return below
        count = self._counts.get(gram, 0)
        kept = count - self._discounts[min(count, 3) - 1] if count else 0.0
        return (kept + self._given[context] * below) / total
