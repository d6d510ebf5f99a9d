"""What the training works out by itself is what PyTorch would: values and gradients.

Runs where PyTorch is, in `make demo-model`'s environment and before it trains.
"""

import unittest
from collections.abc import Callable
from unittest.mock import patch

import torch
from recipe.attention import causal_attention
from recipe.experts import mix_experts
from recipe.output import weighted_loss
from torch import Tensor
from torch.nn import functional

TYPES = ((torch.float32, 1e-5), (torch.bfloat16, 2e-2))


def values(*sizes: int, scale: float = 1.0) -> Tensor:
    return (torch.randn(*sizes) * scale).requires_grad_()


class Products(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(1)

    def compare(
        self,
        module: str,
        ours: Callable[..., Tensor],
        known: Callable[..., Tensor],
        inputs: tuple[Tensor, ...],
    ) -> None:
        """Both give the same, up to the rounding of the type, forwards and backwards."""
        expected = known(*inputs)
        slope = torch.randn_like(expected)
        wanted = [expected.detach(), *torch.autograd.grad(expected, inputs, slope)]
        for product_type, most in TYPES:
            with patch(f"recipe.{module}.PRODUCT_TYPE", product_type):
                found = ours(*inputs)
                got = [found.detach(), *torch.autograd.grad(found, inputs, slope)]
            for a, b in zip(got, wanted, strict=True):
                self.assertEqual(a.dtype, torch.float32)
                self.assertLess(float((a - b).norm() / b.norm()), most, product_type)

    def test_attention(self) -> None:
        def known(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            return y.transpose(1, 2).flatten(2)

        for n_token in (1, 7, 128, 300):  # less than a block, one, and a part of one behind two
            with self.subTest(n_token=n_token):
                q, k, v = (values(2, n, n_token, 32) for n in (6, 2, 2))
                if n_token == 1:  # it sees itself only, so that q and k have no gradient
                    expected = known(q, k, v)
                    torch.testing.assert_close(
                        causal_attention(q, k, v), expected, atol=0.02, rtol=0.02
                    )
                else:
                    self.compare("attention", causal_attention, known, (q, k, v))

    def test_experts_of_which_some_are_not_used(self) -> None:
        n_expert, n_ff = 5, 8
        chosen = torch.tensor([[0, 1], [3, 1], [1, 0]] * 20)
        counts = torch.bincount(chosen.flatten(), minlength=n_expert)

        def ours(x: Tensor, weights: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
            return mix_experts(x, weights, chosen, counts, gate_up, down)

        def known(x: Tensor, weights: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
            gate, up = torch.einsum("ti,tkoi->tko", x, gate_up[chosen]).chunk(2, dim=-1)
            out = torch.einsum("tko,tkio->tki", functional.silu(gate) * up, down[chosen])
            return (out * weights.unsqueeze(-1)).sum(1)

        x, weights = values(len(chosen), 16), values(len(chosen), 2)
        matrices = values(n_expert, 2 * n_ff, 16), values(n_expert, 16, n_ff)
        self.compare("experts", ours, known, (x, weights, *matrices))

    def test_loss(self) -> None:
        targets, weights = torch.randint(50, (300,)), torch.rand(300)

        def known(x: Tensor, embedding: Tensor) -> Tensor:
            losses = functional.cross_entropy(x @ embedding.t(), targets, reduction="none")
            return (losses * weights).sum()

        def ours(x: Tensor, embedding: Tensor) -> Tensor:
            return weighted_loss(x, embedding, targets, weights)

        self.compare("output", ours, known, (values(300, 16), values(50, 16)))
