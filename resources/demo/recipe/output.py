"""The output: the loss of each next token, without all logits at once.

Logits of some tokens after another, and their gradients with them, stay in the CPU's caches.
"""

from typing import Any

import torch
from torch import Tensor

from recipe.precision import PRODUCT_TYPE

_PART = 256  # tokens


def weighted_loss(x: Tensor, embedding: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """The weighted sum of the tokens' cross entropies, a scalar.

    x: [n_token, n_embd]; embedding: [n_vocab, n_embd]; targets, weights: [n_token].
    """
    return _Loss.apply(x, embedding, targets, weights)


class _Loss(torch.autograd.Function):
    """Gradients are found on the way forward, and scaled on the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, embedding: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        matrix = embedding.to(PRODUCT_TYPE)
        loss = x.new_zeros(())
        grad_x = torch.empty_like(x)
        grad_matrix = torch.zeros_like(embedding)
        for at in range(0, len(x), _PART):
            part = slice(at, at + _PART)
            inputs, chosen = x[part].to(PRODUCT_TYPE), targets[part].unsqueeze(1)
            logs = torch.mm(inputs, matrix.t()).float().log_softmax(1)
            loss -= (logs.gather(1, chosen).squeeze(1) * weights[part]).sum()
            slope = logs.exp_()
            slope.scatter_add_(1, chosen, slope.new_full(chosen.shape, -1.0))
            slope = slope.mul_(weights[part].unsqueeze(1)).to(PRODUCT_TYPE)
            grad_x[part] = torch.mm(slope, matrix)
            grad_matrix += torch.mm(slope.t(), inputs)
        ctx.save_for_backward(grad_x, grad_matrix)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad_x, grad_matrix = ctx.saved_tensors
        return grad_x * grad, grad_matrix * grad, None, None
