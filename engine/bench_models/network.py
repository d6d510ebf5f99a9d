"""The random network: what its weights are, and why text and routing stay lively at any depth.

Residual stream. Its content is all dimensions but the first, in a few groups. The router of layer l
reads one of them, the next layer's router the next one, in turn. What a layer adds is *loud* in the
group that the next router reads and *quiet* elsewhere, always in proportion to what is there. So
layer l+1's router, put to layer l's input, foretells its choice equally well at any depth (as well
as `expert_gain` allows), and yet the stream grows slowly: each group is loudly written once a turn.

Popularity. Dimension 0 holds a constant that no layer writes to (its rows in the output projections
are zero). Norm weights bring it to 1 at each router, so the router's column 0 is a bias per expert:
the popularity of experts, which decides how much a cache of the popular ones hits.

Text. The output norm brings dimension 0 to `output_one`, so the output's column 0 is a bias per
token. It keeps unreadable bytes and end tokens from being sampled; the rest is lively noise.

Rows. The rows of most matrices are drawn from a bank of random rows, in an order of their own for
each matrix, so that a file of many gigabytes is made of a few million random numbers.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.bench_models.shapes import Shape

FloatRows = NDArray[np.float32]
RowOrder = NDArray[np.int64]

CONSTANT = 4.0  # dimension 0 of every embedding; the largest entry, so coarse types keep it well
_CLIP = 3.5
_N_GROUP = 8
# Variance of attention's average over values of variance 1, on texts of a few hundred tokens.
_ATTENTION_SHARE = 0.2
# Root mean square of silu(g) * u for independent standard normal g and u.
_HIDDEN_RMS = 0.597


class Dynamics(msgspec.Struct, frozen=True, kw_only=True):
    """The constants behind the statistics of a network; see calibration in routing.py."""

    popularity: float = 1.0  # spread of the router's bias over experts
    taste: float = 1.5  # spread of the rest of a router logit, over tokens
    attention_gain: float = 0.7  # attention output to stream, as standard deviations, where loud
    expert_gain: float = 1.0  # the same for the experts' weighted sum
    quiet: float = 0.15  # both gains in the groups that the next router does not read, relative
    attention_sharpness: float = 1.5  # standard deviation of attention scores
    output_gain: float = 2.0  # standard deviation of logits
    output_one: float = 8.0
    unlikely: float = -12.0  # logit bias of tokens that should not be sampled


# So that LFU hits 54 % and 51 to 64 % of next-router prefetches go unused. The first shape measured
# 54.2 and 56.0 % in llama.cpp (12 layers, Q4_0, 256 steps); the second only by its surrogate.
_CALIBRATED = {
    "qwen3-30b-a3b": Dynamics(popularity=0.68, expert_gain=1.7),
    "qwen3.6-35b-a3b-experts": Dynamics(popularity=0.43, expert_gain=0.8),
}


def is_calibrated(shape_name: str) -> bool:
    """Whether a shape's routing is made to behave like a real model's."""
    return shape_name in _CALIBRATED


# Taken over from a calibrated shape with as many experts, or nearly; what such a file does is
# measured on the engine (`bench --routing`).
_ALIKE = {
    "qwen3.6-35b-a3b": "qwen3.6-35b-a3b-experts",
    "gemma4-26b-a4b": "qwen3-30b-a3b",
    "gpt-oss-20b": "qwen3-30b-a3b",
}


def dynamics_like(shape_name: str) -> Dynamics:
    """The constants for a shape of SHAPES; those of "tiny" are not calibrated."""
    return _CALIBRATED.get(_ALIKE.get(shape_name, shape_name), Dynamics())


class Network:
    """Float weights of a random network, matrix by matrix, from a seed.

    Rows are float32 [n_rows, n_per_row]: a row gives one output.
    """

    def __init__(self, shape: Shape, dynamics: Dynamics, seed: int) -> None:
        self.shape = shape
        self.dynamics = dynamics
        self.seed = seed
        self._group = np.arange(shape.n_embd) * _N_GROUP // shape.n_embd  # of each dimension
        self._variance, self._at_end = self._stream_variance()

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
        return self._norm(self._rms(self._variance[il].before_experts) / CONSTANT)

    def output_norm(self) -> FloatRows:
        """[n_embd]: dimension 0 becomes output_one."""
        return self._norm(self.dynamics.output_one * self._rms(self._at_end) / CONSTANT)

    # -- matrices --------------------------------------------------------------------------------

    def embeddings(self, n_vocab: int) -> FloatRows:
        """[n_vocab, n_embd]."""
        rows = self._normal("token_embd", 0, (n_vocab, self.shape.n_embd))
        rows[:, 0] = CONSTANT
        return rows

    def output(self, n_vocab: int, unlikely: Sequence[int]) -> FloatRows:
        """[n_vocab, n_embd]; the tokens `unlikely` are practically never sampled."""
        n_embd = self.shape.n_embd
        rows = self._normal("output", 0, (n_vocab, n_embd))
        rows *= np.float32(self.dynamics.output_gain / np.sqrt(n_embd))
        rows[:, 0] = 0
        rows[list(unlikely), 0] = self.dynamics.unlikely / self.dynamics.output_one
        return rows

    def router(self, il: int) -> FloatRows:
        """[n_expert, n_embd]."""
        n_expert, n_embd = self.shape.n_expert, self.shape.n_embd
        read = self._group == il % _N_GROUP
        read[0] = False
        variance = self._variance[il].before_experts
        seen = np.sqrt(variance[il % _N_GROUP]) / self._rms(variance)  # of one dimension, normed
        rows = self._normal("router", il, (n_expert, n_embd))
        rows *= read
        # Equally long rows: a longer one would make its expert popular.
        rows *= self.dynamics.taste / (seen * np.linalg.norm(rows, axis=1))[:, None]
        # The same spread in every layer, not a sample of it: evenly spaced quantiles.
        quantiles = [NormalDist().inv_cdf((i + 0.5) / n_expert) for i in range(n_expert)]
        bias = self.dynamics.popularity * np.array(quantiles)
        rows[:, 0] = self._rng("popularity", il).permutation(bias)
        return rows

    def bank(self) -> FloatRows:
        """[n_bank, n_embd]: the rows of attention's q, k, v and of the experts' gate and up."""
        n_embd = self.shape.n_embd
        return self._normal("bank", 0, (self.n_bank, n_embd)) * np.float32(n_embd**-0.5)

    @property
    def n_bank(self) -> int:
        """Rows of bank()."""
        return max(self.shape.n_head * self.shape.head_dim, 2 * self.shape.n_ff_exp)

    def attn_output(self, il: int) -> FloatRows:
        """[n_embd, n_head * head_dim]."""
        return self.written("attn_output", il, self.shape.n_head * self.shape.head_dim)

    def written(self, role: str, il: int, n: int) -> FloatRows:
        """[n_embd, n]: writes attention's n values of variance 1 to the stream."""
        gain = self.dynamics.attention_gain * self._loudness(il) / np.sqrt(n)
        deviation = gain * np.sqrt(self._variance[il].before_attention)
        return self._written(role, il, n, deviation)

    def plain(self, role: str, il: int, n: int) -> FloatRows:
        """[n_embd, n]: the same, all groups alike and no louder than its input."""
        return self._written(role, il, n, np.full(_N_GROUP, n**-0.5, dtype=np.float32))

    def attention_deviation(self, il: int) -> FloatRows:
        """[n_embd]: of what attention adds, for values of variance 1."""
        gain = self.dynamics.attention_gain * self._loudness(il)
        return self._per_dimension(gain * np.sqrt(self._variance[il].before_attention))

    def expert_deviation(self, il: int) -> FloatRows:
        """[n_embd]: of what the experts of a layer add together."""
        gain = self.dynamics.expert_gain * self._loudness(il + 1)
        return self._per_dimension(gain * np.sqrt(self._variance[il].before_experts))

    def down_bank(self, il: int) -> FloatRows:
        """[n_embd, n_ff_exp]: the rows of a layer's down projections, each in its group."""
        n = self.shape.n_ff_exp
        unit = _HIDDEN_RMS * np.sqrt(n * self.weight_square())
        gain = self.dynamics.expert_gain * self._loudness(il + 1) / unit
        deviation = gain * np.sqrt(self._variance[il].before_experts)
        return self._written("ffn_down_exps", il, n, deviation)

    def bank_order(self, role: str, il: int, n_rows: int, expert: int = 0) -> RowOrder:
        """[n_rows]: which rows of bank() make up a matrix."""
        rng = self._rng(role, il, expert)
        orders = [rng.permutation(self.n_bank) for _ in range(-(-n_rows // self.n_bank))]
        return np.concatenate(orders)[:n_rows]

    def down_order(self, il: int, expert: int) -> RowOrder:
        """[n_embd]: which rows of down_bank() make up an expert's down projection."""
        rng = self._rng("ffn_down_exps", il, 1 + expert)
        rows = np.arange(self.shape.n_embd).reshape(_N_GROUP, -1)
        order: RowOrder = rng.permuted(rows, axis=1).ravel()
        order[order == 0], order[0] = order[0], 0
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

    def stream_rms(self) -> float:
        """Expected root mean square of the stream's content after the last layer."""
        return float(np.sqrt(self._at_end.mean()))

    def _stream_variance(self) -> tuple[list["_Variance"], FloatRows]:
        """Expected variance of the stream in each layer, and at the end."""
        now = np.ones(_N_GROUP, dtype=np.float32)
        layers = []
        for il in range(self.shape.n_layer):
            before_attention = now
            attention = self.dynamics.attention_gain * self._loudness(il)
            now = now * (1 + attention**2 * _ATTENTION_SHARE)
            layers.append(_Variance(before_attention, now))
            now = now * (1 + (self.dynamics.expert_gain * self._loudness(il + 1)) ** 2)
        return layers, now

    def _loudness(self, il: int) -> FloatRows:
        """[groups]: of what is written for the router of layer il."""
        loudness = np.full(_N_GROUP, self.dynamics.quiet, dtype=np.float32)
        loudness[il % _N_GROUP] = 1
        return loudness

    def _rms(self, variance: FloatRows) -> float:
        return float(np.sqrt(variance.mean() + CONSTANT**2 / self.shape.n_embd))

    def _norm(self, first: float) -> FloatRows:
        weights = np.ones(self.shape.n_embd, dtype=np.float32)
        weights[0] = first
        return weights

    def _per_dimension(self, of_group: FloatRows) -> FloatRows:
        values = of_group[self._group].astype(np.float32)
        values[0] = 0
        return values

    def _written(self, role: str, il: int, n: int, deviation: FloatRows) -> FloatRows:
        """[n_embd, n]: rows that write to the stream, with the deviation of their group."""
        rows = self._normal(role, il, (self.shape.n_embd, n))
        rows *= deviation[self._group][:, None]
        rows[0] = 0
        return rows

    def _normal(self, role: str, il: int, size: tuple[int, int]) -> FloatRows:
        rows = self._rng(role, il).standard_normal(size, dtype=np.float32)
        return np.clip(rows, -_CLIP, _CLIP, out=rows)

    def _rng(self, role: str, *where: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *role.encode(), *where])


class _Variance(NamedTuple):
    """Per group of the stream."""

    before_attention: FloatRows
    before_experts: FloatRows
