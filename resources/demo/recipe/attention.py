"""Causal attention over rows, block by block, without what the mask would hide.

Written as one autograd function, since PyTorch's own takes up to twice as long on CPUs.
"""

from typing import Any

import torch
from torch import Tensor

from recipe.precision import PRODUCT_TYPE

_BLOCK = 128  # tokens that ask at once


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """For each token and head the values, weighted by softmax(q k / sqrt(head_dim)), as float32.

    q: [n_row, n_head, n_token, head_dim]; k, v: [n_row, n_head_kv, n_token, head_dim], each for
    n_head / n_head_kv heads. Gives [n_row, n_token, n_head * head_dim].
    """
    # Heads that share keys stand side by side, so that they are one matrix.
    grouped = (q * q.shape[-1] ** -0.5).unflatten(1, (k.shape[1], -1)).transpose(2, 3)
    y = _Attention.apply(*(x.to(PRODUCT_TYPE).flatten(0, 1) for x in (grouped, k, v)))
    return y.unflatten(0, k.shape[:2]).transpose(1, 2).flatten(2).float()


class _Attention(torch.autograd.Function):
    """q: [n, n_token, n_group, head_dim], scaled; k, v: [n, n_token, head_dim]; gives q's shape."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        out = torch.empty_like(q)
        blocks = _blocks(q.shape[1])
        hidden = _hidden(q.shape[2]).to(q.dtype)
        chances = []
        for n in range(len(q)):
            for asking, seen in blocks:
                logits = torch.mm(q[n, asking].flatten(0, 1), k[n, seen].t())
                n_new = asking.stop - asking.start
                logits[:, asking].add_(hidden[: len(logits), :n_new])
                chance = logits.softmax(1)
                chances.append(chance)
                torch.mm(chance, v[n, seen], out=out[n, asking].flatten(0, 1))
        ctx.save_for_backward(q, k, v, out)
        ctx.chances, ctx.blocks = chances, blocks
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        q, k, v, out = ctx.saved_tensors
        grad = grad.contiguous()
        grad_q, grad_k, grad_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        told = (grad * out).sum(-1, keepdim=True)
        chances = iter(ctx.chances)
        for n in range(len(q)):
            for asking, seen in ctx.blocks:
                chance = next(chances)
                asked, slope = q[n, asking].flatten(0, 1), grad[n, asking].flatten(0, 1)
                grad_v[n, seen] += torch.mm(chance.t(), slope)
                inner = torch.mm(slope, v[n, seen].t())
                inner.sub_(told[n, asking].flatten(0, 1)).mul_(chance)
                torch.mm(inner, k[n, seen], out=grad_q[n, asking].flatten(0, 1))
                grad_k[n, seen] += torch.mm(inner.t(), asked)
        return grad_q, grad_k, grad_v


def _blocks(n_token: int) -> list[tuple[slice, slice]]:
    """Tokens that ask, and those that they see."""
    starts = range(0, n_token, _BLOCK)
    ends = [min(start + _BLOCK, n_token) for start in starts]
    return [(slice(start, end), slice(0, end)) for start, end in zip(starts, ends, strict=True)]


def _hidden(n_group: int) -> Tensor:
    """[_BLOCK * n_group, _BLOCK]: -inf where a token must not see, else 0."""
    hidden = torch.full((_BLOCK, _BLOCK), float("-inf")).triu(1)
    return hidden.repeat_interleave(n_group, 0)
