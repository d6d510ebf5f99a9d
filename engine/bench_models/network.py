"""The random network: what its weights are, and why text and routing stay lively at any depth.

Residual stream. Its content (all dimensions but the first) starts with variance 1 at the embedding.
Every layer adds attention and expert outputs in a fixed proportion to what is there, so the variance
grows geometrically, and how alike the router inputs of successive layers are is the same at any depth.
That likeness decides how well layer l+1's router predicts from layer l's input.

Popularity. Dimension 0 holds a constant that no layer writes to (its rows in the output projections are
zero). Norm weights bring it to exactly 1 at each router, so the router's column 0 is a bias per expert:
the popularity of experts, which decides how much a cache of the popular ones hits.

Text. The output norm brings dimension 0 to `output_one`, so the output's column 0 is a bias per token.
It keeps unreadable bytes and end tokens from being sampled; the rest is lively noise.

Rows. The rows of most matrices are drawn from a bank of random rows, in an order of their own for
each matrix, so that a file of many gigabytes is made of a few million random numbers.
"""

from collections.abc import Sequence
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.bench_models.shapes import Shape

FloatRows = NDArray[np.float32]
RowOrder = NDArray[np.int64]

CONSTANT = 4.0  # dimension 0 of every embedding; the largest entry, so coarse types keep it well
_CLIP = 3.5
# Root mean square of silu(g) * u for independent standard normal g and u.
_HIDDEN_RMS = 0.597


class Dynamics(msgspec.Struct, frozen=True, kw_only=True):
    """The constants behind the statistics of a network; see calibration in routing.py."""

    popularity: float = 1.0  # spread of the router's bias over experts
    taste: float = 1.5  # spread of the rest of a router logit, over tokens
    attention_gain: float = 0.7  # attention output to stream, both as standard deviations
    expert_gain: float = 0.6  # the same for the experts' weighted sum
    attention_sharpness: float = 1.5  # standard deviation of attention scores
    output_gain: float = 2.0  # standard deviation of logits
    output_one: float = 8.0
    unlikely: float = -12.0  # logit bias of tokens that should not be sampled


class Network:
    """Float weights of a random network, matrix by matrix, from a seed.

    Rows are float32 [n_rows, n_per_row]: a row gives one output.
    """

    def __init__(self, shape: Shape, dynamics: Dynamics, seed: int) -> None:
        self.shape = shape
        self.dynamics = dynamics
        self._seed = seed
        self._variance = self._stream_variance()

    # -- vectors ---------------------------------------------------------------------------------

    def attn_norm(self) -> FloatRows:
        """[n_embd]: attention does not see dimension 0."""
        return self._norm(0.0)

    def head_norm(self) -> FloatRows:
        """[head_dim] of q and of k."""
        gain = np.sqrt(self.dynamics.attention_sharpness)
        return np.full(self.shape.head_dim, gain, dtype=np.float32)

    def ffn_norm(self, il: int) -> FloatRows:
        """[n_embd]: dimension 0 becomes 1 at the router."""
        return self._norm(self._rms(self._variance[il][1]) / CONSTANT)

    def output_norm(self) -> FloatRows:
        """[n_embd]: dimension 0 becomes output_one."""
        return self._norm(self.dynamics.output_one * self._rms(self._variance[-1][0]) / CONSTANT)

    # -- matrices --------------------------------------------------------------------------------

    def embeddings(self, n_vocab: int) -> FloatRows:
        """[n_vocab, n_embd]."""
        rows = self._normal("token_embd", 0, (n_vocab, self.shape.n_embd), 1.0)
        rows[:, 0] = CONSTANT
        return rows

    def output(self, n_vocab: int, unlikely: Sequence[int]) -> FloatRows:
        """[n_vocab, n_embd]; the tokens `unlikely` are practically never sampled."""
        n_embd = self.shape.n_embd
        rows = self._normal(
            "output", 0, (n_vocab, n_embd), self.dynamics.output_gain / np.sqrt(n_embd)
        )
        rows[:, 0] = 0
        rows[list(unlikely), 0] = self.dynamics.unlikely / self.dynamics.output_one
        return rows

    def router(self, il: int) -> FloatRows:
        """[n_expert, n_embd]."""
        n_expert, n_embd = self.shape.n_expert, self.shape.n_embd
        rows = self._normal(
            "router", il, (n_expert, n_embd), self.dynamics.taste / np.sqrt(n_embd)
        )
        # The same spread in every layer, not a sample of it: evenly spaced quantiles.
        normal = NormalDist(0, self.dynamics.popularity) if self.dynamics.popularity else None
        bias = np.array([normal.inv_cdf((i + 0.5) / n_expert) if normal else 0 for i in range(n_expert)])
        rows[:, 0] = self._rng("popularity", il).permutation(bias)
        return rows

    def bank(self) -> FloatRows:
        """[n_bank, n_embd]: the rows of attention's q, k, v and of the experts' gate and up."""
        n_embd = self.shape.n_embd
        return self._normal("bank", 0, (self.n_bank, n_embd), 1 / np.sqrt(n_embd))

    @property
    def n_bank(self) -> int:
        """Rows of bank()."""
        return max(self.shape.n_head * self.shape.head_dim, 2 * self.shape.n_ff_exp)

    def attn_output(self, il: int) -> FloatRows:
        """[n_embd, n_head * head_dim]."""
        n = self.shape.n_head * self.shape.head_dim
        deviation = self.dynamics.attention_gain * np.sqrt(self._variance[il][0] / n)
        rows = self._normal("attn_output", il, (self.shape.n_embd, n), deviation)
        rows[0] = 0
        return rows

    def down_bank(self, il: int) -> FloatRows:
        """[n_embd, n_ff_exp]: the rows of a layer's down projections; the last is zero."""
        n = self.shape.n_ff_exp
        unit = _HIDDEN_RMS * np.sqrt(n * self.weight_square())
        deviation = self.dynamics.expert_gain * np.sqrt(self._variance[il][1]) / unit
        rows = self._normal("ffn_down_exps", il, (self.shape.n_embd, n), deviation)
        rows[-1] = 0
        return rows

    def bank_order(self, role: str, il: int, n_rows: int, expert: int = 0) -> RowOrder:
        """[n_rows]: which rows of bank() make up a matrix."""
        return self._rng(role, il, expert).permutation(self.n_bank)[:n_rows]

    def down_order(self, il: int, expert: int) -> RowOrder:
        """[n_embd]: which rows of down_bank() make up an expert's down projection."""
        order = np.empty(self.shape.n_embd, dtype=np.int64)
        order[0] = self.shape.n_embd - 1
        order[1:] = self._rng("ffn_down_exps", il, 1 + expert).permutation(self.shape.n_embd - 1)
        return order

    # -- statistics ------------------------------------------------------------------------------

    def weight_square(self) -> float:
        """Expected sum of the squared weights of a token's experts (softmax over the chosen)."""
        deviation = np.hypot(self.dynamics.popularity, self.dynamics.taste)
        logits = np.random.default_rng(0).normal(0, deviation, (256, self.shape.n_expert))
        top = np.sort(logits, axis=1)[:, -self.shape.n_expert_used :]
        weights = np.exp(top - top[:, -1:])
        weights /= weights.sum(axis=1, keepdims=True)
        return float((weights**2).sum(axis=1).mean())

    def _stream_variance(self) -> list[tuple[float, float]]:
        """Variance of the stream's content (before attention, before the experts) of each layer."""
        # Attention averages several values, so it adds less than its gain says.
        attention = 1 + self.dynamics.attention_gain**2 * ATTENTION_SHARE
        experts = 1 + self.dynamics.expert_gain**2
        variance = []
        before = 1.0
        for _ in range(self.shape.n_layer):
            variance.append((before, before * attention))
            before *= attention * experts
        return [*variance, (before, before)]

    def _rms(self, variance: float) -> float:
        return float(np.sqrt(variance + CONSTANT**2 / self.shape.n_embd))

    def _norm(self, first: float) -> FloatRows:
        weights = np.ones(self.shape.n_embd, dtype=np.float32)
        weights[0] = first
        return weights

    def _normal(self, role: str, il: int, size: tuple[int, int], deviation: float) -> FloatRows:
        rows = self._rng(role, il).standard_normal(size, dtype=np.float32)
        np.clip(rows, -_CLIP, _CLIP, out=rows)
        rows *= np.float32(deviation)
        return rows

    def _rng(self, role: str, *where: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, *role.encode(), *where])


# Variance of an average over attention's values, of values with variance 1; measured on text of a few
# hundred tokens.
ATTENTION_SHARE = 0.2
