"""The experts of one layer: each gets the tokens that chose it, as one matrix product.

Written as one autograd function, since PyTorch's own would copy all experts' weights per expert.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def mix_experts(
    x: Tensor, weights: Tensor, chosen: Tensor, counts: Tensor, gate_up: Tensor, down: Tensor
) -> Tensor:
    """For each token the weighted sum of its experts.

    x: [n_token, n_embd]; weights, chosen: [n_token, n_used]; counts: [n_expert], of `chosen`;
    gate_up: [n_expert, 2 * n_ff, n_embd]; down: [n_expert, n_embd, n_ff].
    """
    return _Experts.apply(x, weights, chosen, counts, gate_up, down)


class _Experts(torch.autograd.Function):
    """Rows are sorted by expert: row r is token order[r] // n_used."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weights: Tensor,
        chosen: Tensor,
        counts: Tensor,
        gate_up: Tensor,
        down: Tensor,
    ) -> Tensor:
        n_used = chosen.shape[1]
        order = chosen.flatten().argsort(stable=True)
        spans = _spans(counts)
        rows = x.index_select(0, order // n_used)
        hidden = rows.new_empty(len(order), gate_up.shape[1])
        for e, span in spans:
            torch.mm(rows[span], gate_up[e].t(), out=hidden[span])
        gate, up = hidden.chunk(2, dim=1)
        weight = weights.flatten().index_select(0, order).unsqueeze(1)
        inner = functional.silu(gate).mul_(up).mul_(weight)
        out = torch.empty_like(rows)
        for e, span in spans:
            torch.mm(inner[span], down[e].t(), out=out[span])
        ctx.save_for_backward(rows, hidden, weight, order, gate_up, down)
        ctx.spans, ctx.n_used = spans, n_used
        return _summed(out, order, n_used)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, hidden, weight, order, gate_up, down = ctx.saved_tensors
        gate, up = hidden.chunk(2, dim=1)
        sigmoid = gate.sigmoid()
        silu = gate * sigmoid
        product = silu * up
        inner = product * weight
        grad_out = grad.index_select(0, order // ctx.n_used)
        grad_inner = torch.empty_like(inner)
        grad_down = torch.zeros_like(down)
        for e, span in ctx.spans:
            torch.mm(grad_out[span], down[e], out=grad_inner[span])
            torch.mm(grad_out[span].t(), inner[span], out=grad_down[e])
        grad_weight = torch.empty_like(weight.squeeze(1))
        grad_weight[order] = (grad_inner * product).sum(1)
        grad_inner.mul_(weight)
        grad_hidden = torch.empty_like(hidden)
        grad_gate, grad_up = grad_hidden.chunk(2, dim=1)
        torch.mul(grad_inner, silu, out=grad_up)
        slope = sigmoid.addcmul_(silu, 1 - sigmoid)  # of silu
        torch.mul(grad_inner.mul_(up), slope, out=grad_gate)
        grad_rows = torch.empty_like(rows)
        grad_gate_up = torch.zeros_like(gate_up)
        for e, span in ctx.spans:
            torch.mm(grad_hidden[span], gate_up[e], out=grad_rows[span])
            torch.mm(grad_hidden[span].t(), rows[span], out=grad_gate_up[e])
        grad_x = _summed(grad_rows, order, ctx.n_used)
        return grad_x, grad_weight.view(-1, ctx.n_used), None, None, grad_gate_up, grad_down


def _spans(counts: Tensor) -> list[tuple[int, slice]]:
    spans, start = [], 0
    for e, n in enumerate(counts.tolist()):
        if n:
            spans.append((e, slice(start, start + n)))
        start += n
    return spans


def _summed(rows: Tensor, order: Tensor, n_used: int) -> Tensor:
    """Rows back in the tokens' order, those of a token summed."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    return rows.index_select(0, place).view(-1, n_used, rows.shape[1]).sum(1)
