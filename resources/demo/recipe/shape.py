"""Shape: the model's sizes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Sizes. Rows are multiples of 32, as Q8_0 wants them."""

    n_vocab: int = 5120
    n_embd: int = 192
    n_layer: int = 8
    n_head: int = 6
    n_head_kv: int = 2
    head_dim: int = 32
    n_expert: int = 32
    n_expert_used: int = 4
    n_ff_exp: int = 96
    rope_base: float = 10_000.0
    norm_eps: float = 1e-6

    def n_parameter(self, n_expert: int) -> int:
        """Of the whole model, with `n_expert` experts per layer counted."""
        attention = self.n_embd * self.head_dim * 2 * (self.n_head + self.n_head_kv)
        norms = 2 * (self.n_embd + self.head_dim)
        router = self.n_embd * self.n_expert
        experts = n_expert * 3 * self.n_embd * self.n_ff_exp
        layer = attention + norms + router + experts
        return self.n_layer * layer + self.n_vocab * self.n_embd + self.n_embd
