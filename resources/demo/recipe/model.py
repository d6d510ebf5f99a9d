"""The network: Qwen3-MoE as llama.cpp and Transformers define it, in PyTorch, for training on CPUs.

Per layer: grouped-query attention with an RMS norm per head and rotary embeddings ("neox" halves),
then 32 SwiGLU experts of which a softmax router picks 4 per token, their weights summing to 1.
The embedding is also the output matrix.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from recipe.attention import causal_attention
from recipe.experts import mix_experts
from recipe.output import weighted_loss
from recipe.precision import PRODUCT_TYPE
from recipe.shape import Shape


@dataclass(frozen=True)
class RouterLosses:
    """How much the routers' two extra losses weigh, added to the mean loss of a token.

    `balance` (Switch Transformers, equation 4) keeps every expert in use, yet lets topics prefer
    experts. `z` (ST-MoE, equation 5) keeps the routers' logits small.
    """

    balance: float = 0.01
    z: float = 1e-4


class Linear(nn.Linear):
    """A product with a matrix, in the type that the CPU multiplies fastest."""

    def forward(self, x: Tensor) -> Tensor:
        """x: [.., n_in] -> [.., n_out], float32."""
        return functional.linear(x.to(PRODUCT_TYPE), self.weight.to(PRODUCT_TYPE)).float()


class Attention(nn.Module):
    """Causal attention over one row. x: [n_row, n_token, n_embd]."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        n_q, n_kv = shape.n_head * shape.head_dim, shape.n_head_kv * shape.head_dim
        self.q = Linear(shape.n_embd, n_q, bias=False)
        self.k = Linear(shape.n_embd, n_kv, bias=False)
        self.v = Linear(shape.n_embd, n_kv, bias=False)
        self.output = Linear(n_q, shape.n_embd, bias=False)
        self.q_norm = nn.RMSNorm(shape.head_dim, eps=shape.norm_eps)
        self.k_norm = nn.RMSNorm(shape.head_dim, eps=shape.norm_eps)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
        """What attention adds to x."""
        s = self.shape
        heads = lambda y, n: y.unflatten(-1, (n, s.head_dim)).transpose(1, 2)  # noqa: E731
        q = rotated(self.q_norm(heads(self.q(x), s.n_head)), rope)
        k = rotated(self.k_norm(heads(self.k(x), s.n_head_kv)), rope)
        v = heads(self.v(x), s.n_head_kv)
        return self.output(causal_attention(q, k, v))


class Moe(nn.Module):
    """Router and experts. x: [n_token, n_embd]."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.router = nn.Linear(shape.n_embd, shape.n_expert, bias=False)
        self.gate_up = nn.Parameter(torch.empty(shape.n_expert, 2, shape.n_ff_exp, shape.n_embd))
        self.down = nn.Parameter(torch.empty(shape.n_expert, shape.n_embd, shape.n_ff_exp))

    def forward(self, x: Tensor, weigh: RouterLosses) -> tuple[Tensor, Tensor, Tensor]:
        """The experts' sum; the extra loss; how many times each expert was used [n_expert]."""
        s = self.shape
        logits = self.router(x)
        chances = logits.softmax(-1)
        weights, chosen = chances.topk(s.n_expert_used, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        counts = torch.bincount(chosen.flatten(), minlength=s.n_expert)
        shares = counts / chosen.numel()
        balance = s.n_expert * (shares * chances.mean(0)).sum()
        z = logits.logsumexp(-1).square().mean()
        y = mix_experts(x, weights, chosen, counts, self.gate_up.flatten(1, 2), self.down)
        return y, weigh.balance * balance + weigh.z * z, counts


class Layer(nn.Module):
    """Attention, then experts, each behind a norm and added to the stream."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attn_norm = nn.RMSNorm(shape.n_embd, eps=shape.norm_eps)
        self.attn = Attention(shape)
        self.ffn_norm = nn.RMSNorm(shape.n_embd, eps=shape.norm_eps)
        self.moe = Moe(shape)

    def forward(
        self, x: Tensor, rope: tuple[Tensor, Tensor], weigh: RouterLosses
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The stream behind the layer; the routers' extra loss; uses per expert."""
        x = x + self.attn(self.attn_norm(x), rope)
        y, extra, counts = self.moe(self.ffn_norm(x).flatten(0, 1), weigh)
        return x + y.view_as(x), extra, counts


class Model(nn.Module):
    """Tokens in, logits out."""

    def __init__(self, shape: Shape, weigh: RouterLosses | None = None) -> None:
        super().__init__()
        self.shape = shape
        self.weigh = weigh or RouterLosses()
        self.embedding = nn.Embedding(shape.n_vocab, shape.n_embd)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.n_layer))
        self.output_norm = nn.RMSNorm(shape.n_embd, eps=shape.norm_eps)
        self._initialise()

    def hidden(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """tokens: [n_row, n_token] -> normed stream, extra loss, uses [n_layer, n_expert]."""
        x = self.embedding(tokens)
        rope = rope_table(self.shape, tokens.shape[1])
        extras, counts = [], []
        for layer in self.layers:
            x, extra, used = layer(x, rope, self.weigh)
            extras.append(extra)
            counts.append(used)
        return self.output_norm(x), torch.stack(extras).mean(), torch.stack(counts)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [n_row, n_token, n_vocab]."""
        return functional.linear(self.hidden(tokens)[0], self.embedding.weight)

    def losses(self, rows: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """For rows [n_row, n_token + 1]: weighted sum of the tokens' losses, extra loss, uses.

        weights: [n_row, n_token + 1], what each token's loss counts; the first is never predicted.
        """
        x, extra, counts = self.hidden(rows[:, :-1])
        targets, weights = rows[:, 1:].flatten(), weights[:, 1:].flatten()
        loss = weighted_loss(x.flatten(0, 1), self.embedding.weight, targets, weights)
        return loss, extra, counts

    def _initialise(self) -> None:
        into_stream = 0.02 / (2 * self.shape.n_layer) ** 0.5
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:
                continue
            narrow = name.endswith(("attn.output.weight", "moe.down"))
            nn.init.normal_(parameter, std=into_stream if narrow else 0.02)


def rope_table(shape: Shape, n_token: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines [n_token, head_dim / 2]."""
    half = shape.head_dim // 2
    frequencies = shape.rope_base ** (-torch.arange(half, dtype=torch.float32) / half)
    angles = torch.outer(torch.arange(n_token, dtype=torch.float32), frequencies)
    return angles.cos(), angles.sin()


def rotated(x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
    """x [.., n_token, head_dim], its two halves turned against each other by position."""
    cos, sin = rope
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
