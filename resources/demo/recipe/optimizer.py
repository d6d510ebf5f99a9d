"""The optimizer: Muon for matrices, Adam for the rest, over parameters that workers share.

Parameters, gradients and moments are flat tensors in shared memory. Each worker adds up its own
gradients; then each updates its share of the parameters from the mean of all gradients.

Muon: Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from recipe.precision import PRODUCT_TYPE

_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


@dataclass(frozen=True)
class Rates:
    """Learning rates at full scale, and the decay of matrices per step and unit of rate."""

    muon: float = 0.01
    adam: float = 0.003
    decay: float = 0.1
    momentum: float = 0.95
    betas: tuple[float, float] = (0.9, 0.95)


class SharedState:
    """Flat tensors [n_parameter] (gradients: one row per worker), and where each parameter lies."""

    def __init__(self, model: nn.Module, n_worker: int) -> None:
        self.spans: dict[str, slice] = {}
        end = 0
        for name, parameter in model.named_parameters():
            self.spans[name] = slice(end, end + parameter.numel())
            end += parameter.numel()
        self.values = torch.cat([p.detach().flatten() for p in model.parameters()]).share_memory_()
        self.first = torch.zeros(end).share_memory_()
        self.second = torch.zeros(end).share_memory_()
        self.gradients = torch.zeros(n_worker, end).share_memory_()

    def attach(self, model: nn.Module, worker: int) -> None:
        """Let the model's parameters and this worker's gradients be views of the shared tensors."""
        for name, parameter in model.named_parameters():
            span = self.spans[name]
            parameter.data = self.values[span].view_as(parameter)
            parameter.grad = self.gradients[worker, span].view_as(parameter)


class Optimizer:
    """Updates the parameters that fall to `worker`."""

    def __init__(self, model: nn.Module, state: SharedState, worker: int, rates: Rates) -> None:
        self._state = state
        self._rates = rates
        # By turns, the largest first, so that all workers have about as much to do.
        ordered = sorted(model.named_parameters(), key=lambda item: -item[1].numel())
        self._mine = ordered[worker :: len(state.gradients)]

    def step(self, number: int, scale: float) -> None:
        """Update. number: from 1; scale: of the learning rates."""
        state = self._state
        for name, parameter in self._mine:
            span = state.spans[name]
            gradient = state.gradients[:, span].mean(0).view_as(parameter)
            first = state.first[span].view_as(parameter)
            if _is_matrix(name, parameter):
                self._muon(parameter.data, gradient, first, scale)
            else:
                second = state.second[span].view_as(parameter)
                self._adam(parameter.data, gradient, first, second, number, scale)

    def _muon(self, value: Tensor, gradient: Tensor, first: Tensor, scale: float) -> None:
        momentum = self._rates.momentum
        first.lerp_(gradient, 1 - momentum)
        update = orthogonalised(gradient.lerp(first, momentum))
        rate = self._rates.muon * scale
        tall = max(1.0, value.shape[-2] / value.shape[-1]) ** 0.5
        value.mul_(1 - rate * self._rates.decay).add_(update, alpha=-rate * tall)

    def _adam(
        self,
        value: Tensor,
        gradient: Tensor,
        first: Tensor,
        second: Tensor,
        number: int,
        scale: float,
    ) -> None:
        a, b = self._rates.betas
        first.lerp_(gradient, 1 - a)
        second.lerp_(gradient.square(), 1 - b)
        spread = (second / (1 - b**number)).sqrt_().add_(1e-10)
        value.addcdiv_(first, spread, value=-self._rates.adam * scale / (1 - a**number))


def orthogonalised(matrices: Tensor) -> Tensor:
    """Roughly the nearest matrices [.., n, m] whose singular values are 1, by Newton-Schulz."""
    a, b, c = _NEWTON_SCHULZ
    is_tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if is_tall else matrices
    x = (x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)).to(PRODUCT_TYPE)
    for _ in range(5):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.mT if is_tall else x).to(matrices.dtype)


def _is_matrix(name: str, parameter: Tensor) -> bool:
    """Whether Muon updates it: not the embedding, the routers and the norms."""
    return parameter.dim() >= 2 and not name.startswith("embedding") and "router" not in name
