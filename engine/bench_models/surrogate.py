"""Runs a narrow version of a bench model in numpy, to see how it routes.

The same network from the same recipe, with as many layers, experts and experts per token, but fewer
dimensions: routing depends on the relations between them, hardly on their number. It hits a little
more often than the whole model does (LFU 55 to 56 % where Qwen3-30B-A3B's shape has 54 %).
"""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.bench_models.network import Network
from engine.bench_models.routing import Calibration, Routing, calibrate
from engine.bench_models.vocabulary import Vocabulary, byte_vocabulary

Floats = NDArray[np.floating[Any]]
CALIBRATION_STEPS = 256  # the first half warms the cache
_OVERFETCH = 1.5  # experts a prefetcher predicts for a token, per expert used (paper, section 5.1)


class Recording(msgspec.Struct, frozen=True):
    """Routing of every step, and what layer l's router input foretells for layer l + 1.

    [steps, requests, layers, n]; predicted holds -1 for layer 0.
    """

    routing: Routing
    predicted: Routing


def measure(
    network: Network, stepped: Callable[[int], None] = lambda n: None, n_request: int = 8
) -> Calibration:
    """How a model of this network routes, by its surrogate with the vocabulary of bytes.

    At most 12 layers take part: all route alike.
    """
    s = network.shape
    shape = msgspec.structs.replace(
        s,
        n_layer=min(s.n_layer, 12),
        n_embd=512,
        n_head=4,
        n_head_kv=2,
        head_dim=64,
        n_ff_exp=64,
    )
    narrow = Network(shape, network.dynamics, network.seed)
    surrogate = Surrogate(narrow, byte_vocabulary(), n_request, CALIBRATION_STEPS)
    recording = surrogate.record(CALIBRATION_STEPS, stepped)
    return calibrate(recording.routing, s.n_expert, recording.predicted)


class Surrogate:
    """Decodes several requests in step; each starts from a random token and samples its text.

    The network should be narrow: this is numpy.
    """

    def __init__(
        self, network: Network, vocabulary: Vocabulary, n_request: int, max_steps: int
    ) -> None:
        self._shape = s = network.shape
        self._rng = np.random.default_rng(network.seed)
        self._embeddings = network.embeddings(vocabulary.n_vocab)
        self._output = network.output(vocabulary.n_vocab, vocabulary.unlikely)
        self._output_norm = network.output_norm()
        self._layers = [_Layer(network, il) for il in range(s.n_layer)]
        self._bank = network.bank()
        self._attn_norm = network.attn_norm()
        self._head_norm = network.head_norm()
        cache = (s.n_layer, max_steps, n_request, s.n_head_kv, s.head_dim)
        self._keys = np.zeros(cache, dtype=np.float32)
        self._values = np.zeros(cache, dtype=np.float32)
        likely = sorted(set(range(vocabulary.n_vocab)) - set(vocabulary.unlikely))
        self._tokens = self._rng.choice(likely, n_request)
        self._position = 0
        self._n_predicted = min(s.n_expert, round(_OVERFETCH * s.n_expert_used))
        self.stream_rms = 0.0  # of the content at the end of the last step

    def record(self, n_step: int, stepped: Callable[[int], None] = lambda n: None) -> Recording:
        """Decode n_step tokens of every request; `stepped` is called with 1 after each."""
        steps = []
        for _ in range(n_step):
            steps.append(self._step())
            stepped(1)
        return Recording(np.stack([s[0] for s in steps]), np.stack([s[1] for s in steps]))

    def _step(self) -> tuple[Routing, Routing]:
        s = self._shape
        n_request = len(self._tokens)
        routing = np.zeros((n_request, s.n_layer, s.n_expert_used), dtype=np.int32)
        predicted = np.full((n_request, s.n_layer, self._n_predicted), -1, dtype=np.int32)
        x = self._embeddings[self._tokens]
        for il, layer in enumerate(self._layers):
            x = x + self._attention(il, layer, self._rms_norm(x) * self._attn_norm)
            router_input = self._rms_norm(x) * layer.ffn_norm
            logits = router_input @ layer.router.T
            routing[:, il] = _top(logits, s.n_expert_used)
            if il + 1 < s.n_layer:
                foretold = router_input @ self._layers[il + 1].router.T
                predicted[:, il + 1] = _top(foretold, self._n_predicted)
            x = x + self._experts(layer, router_input, logits, routing[:, il])
        self.stream_rms = float(np.sqrt((x[:, 1:] ** 2).mean()))
        logits = (self._rms_norm(x) * self._output_norm) @ self._output.T
        noise = self._rng.gumbel(size=logits.shape)
        self._tokens = np.argmax(logits + noise, axis=1)  # a sample of softmax(logits)
        self._position += 1
        return routing, predicted

    def _attention(self, il: int, layer: "_Layer", x: Floats) -> Floats:
        s = self._shape
        n_request, t = len(x), self._position + 1
        rows = x @ self._bank.T
        q = self._head_normed(rows[:, layer.q], s.n_head)
        self._keys[il, t - 1] = self._head_normed(rows[:, layer.k], s.n_head_kv)
        self._values[il, t - 1] = rows[:, layer.v].reshape(n_request, s.n_head_kv, s.head_dim)
        q = q.reshape(n_request, s.n_head_kv, -1, s.head_dim)
        scores = np.einsum("rkgd,trkd->rkgt", q, self._keys[il, :t]) / np.sqrt(s.head_dim)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        out = np.einsum("rkgt,trkd->rkgd", weights, self._values[il, :t])
        return np.asarray(out.reshape(n_request, -1) @ layer.attn_output.T)

    def _head_normed(self, rows: Floats, n_head: int) -> Floats:
        """Normalised per head, and turned by the position."""
        heads = rows.reshape(len(rows), n_head, self._shape.head_dim)
        heads = self._rms_norm(heads) * self._head_norm
        half = self._shape.head_dim // 2
        angles = self._position * self._shape.rope_base ** (-np.arange(half) / half)
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        first, second = heads[..., :half], heads[..., half:]
        return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)

    def _experts(self, layer: "_Layer", x: Floats, logits: Floats, chosen: Routing) -> Floats:
        taken = np.take_along_axis(logits, chosen, axis=1)
        weights = np.exp(taken - taken.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        rows = x @ self._bank.T
        request = np.arange(len(x))[:, None, None]
        gate, up = rows[request, layer.gate[chosen]], rows[request, layer.up[chosen]]
        hidden = gate / (1 + np.exp(-gate)) * up  # [requests, experts used, n_ff_exp]
        out = np.take_along_axis(hidden @ layer.down_bank.T, layer.down[chosen], axis=2)
        return np.asarray((out * weights[..., None]).sum(axis=1))

    def _rms_norm(self, x: Floats) -> Floats:
        square = (x**2).mean(axis=-1, keepdims=True)
        return np.asarray(x / np.sqrt(square + np.float32(self._shape.rms_eps)))


class _Layer:
    def __init__(self, network: Network, il: int) -> None:
        s = network.shape
        self.q = network.bank_order("attn_q", il, s.n_head * s.head_dim)
        self.k = network.bank_order("attn_k", il, s.n_head_kv * s.head_dim)
        self.v = network.bank_order("attn_v", il, s.n_head_kv * s.head_dim)
        self.attn_output = network.attn_output(il)
        self.ffn_norm = network.ffn_norm(il)
        self.router = network.router(il)
        every = range(s.n_expert)
        n = s.n_ff_exp
        self.gate = np.stack([network.bank_order("ffn_gate_exps", il, n, e) for e in every])
        self.up = np.stack([network.bank_order("ffn_up_exps", il, n, e) for e in every])
        self.down_bank = network.down_bank(il)
        self.down = np.stack([network.down_order(il, e) for e in every])


def _top(logits: Floats, k: int) -> NDArray[np.int64]:
    return np.argpartition(-logits, k - 1, axis=1)[:, :k]
