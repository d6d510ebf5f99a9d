"""The experts of one layer: each gets the tokens that chose it, as one matrix product.

Written as one autograd function, since PyTorch's own would copy all experts' weights per expert.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from recipe.precision import PRODUCT_TYPE

_BLOCK = 32  # rows; products of the same sizes again and again are prepared once


def mix_experts(
    x: Tensor, weights: Tensor, chosen: Tensor, counts: Tensor, gate_up: Tensor, down: Tensor
) -> Tensor:
    """For each token the weighted sum of its experts.

    x: [n_token, n_embd]; weights, chosen: [n_token, n_used]; counts: [n_expert], of `chosen`;
    gate_up: [n_expert, 2 * n_ff, n_embd]; down: [n_expert, n_embd, n_ff].
    """
    return _Experts.apply(x, weights, chosen, counts, gate_up, down)


class _Experts(torch.autograd.Function):
    """Rows are grouped by expert, each group filled up to whole blocks with rows of weight 0.

    places: [n_token, n_used], the row of each use; sources: [n_row], the token of each row.
    """

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
        gate_up, down = gate_up.to(PRODUCT_TYPE), down.to(PRODUCT_TYPE)
        places, sources, spans = _grouped(chosen, counts)
        rows = x.to(PRODUCT_TYPE).index_select(0, sources)
        weight = rows.new_zeros(len(rows), 1)
        weight[places.flatten(), 0] = weights.flatten().to(PRODUCT_TYPE)
        hidden = rows.new_empty(len(rows), gate_up.shape[1])
        for e, span in spans:
            torch.mm(rows[span], gate_up[e].t(), out=hidden[span])
        gate, up = hidden.chunk(2, dim=1)
        inner = functional.silu(gate).mul_(up).mul_(weight)
        out = torch.empty_like(rows)
        for e, span in spans:
            torch.mm(inner[span], down[e].t(), out=out[span])
        ctx.save_for_backward(rows, hidden, weight, places, sources, gate_up, down)
        ctx.spans = spans
        return _summed(out, places)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, hidden, weight, places, sources, gate_up, down = ctx.saved_tensors
        gate, up = hidden.chunk(2, dim=1)
        sigmoid = gate.sigmoid()
        silu = gate * sigmoid
        product = silu * up
        inner = product * weight
        grad_out = grad.to(PRODUCT_TYPE).index_select(0, sources)
        grad_inner = torch.empty_like(inner)
        grad_down = torch.zeros_like(down)
        for e, span in ctx.spans:
            torch.mm(grad_out[span], down[e], out=grad_inner[span])
            torch.mm(grad_out[span].t(), inner[span], out=grad_down[e])
        grad_weight = (grad_inner * product).sum(1, dtype=torch.float32)[places]
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
        grad_x = _summed(grad_rows, places)
        return grad_x, grad_weight, None, None, grad_gate_up.float(), grad_down.float()


def _grouped(chosen: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, list[tuple[int, slice]]]:
    """Places and sources of the rows, and which rows are an expert's."""
    filled = (counts + _BLOCK - 1) // _BLOCK * _BLOCK
    ends = filled.cumsum(0)
    shift = ends - filled - (counts.cumsum(0) - counts)
    order = chosen.flatten().argsort(stable=True)
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order)) + shift.repeat_interleave(counts)
    places = places.view_as(chosen)
    sources = places.new_zeros(int(ends[-1]))
    sources[places] = torch.arange(len(chosen)).unsqueeze(1)
    bounds = zip(ends.tolist(), filled.tolist(), strict=True)
    spans = [(e, slice(end - n, end)) for e, (end, n) in enumerate(bounds) if n]
    return places, sources, spans


def _summed(rows: Tensor, places: Tensor) -> Tensor:
    """Per token the sum of its rows, given as float32."""
    return functional.embedding_bag(places, rows, mode="sum").float()
