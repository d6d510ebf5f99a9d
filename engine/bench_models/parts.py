"""Parts: the tensors of a bench model, each with what fills it."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine._native import quantize
from engine.bench_models.gguf_writer import TensorSpec
from engine.bench_models.network import FloatRows, Network, RowOrder
from engine.bench_models.shapes import Shape
from engine.bench_models.tensor_types import TENSOR_TYPES, tensor_type
from engine.bench_models.vocabulary import Vocabulary

Chunks = Iterator[NDArray[np.uint8]]
_CHUNK_BYTES = 16 << 20


class Part(NamedTuple):
    """A tensor, and its bytes in pieces of bounded size."""

    tensor: TensorSpec
    chunks: Callable[[], Chunks]


class Parts:
    """Makes parts from the rows of a network, in the types that a file type wants."""

    def __init__(
        self, shape: Shape, file_type: str, vocabulary: Vocabulary, network: Network
    ) -> None:
        self.shape = shape
        self.network = network
        self.vocabulary = vocabulary
        self._file_type = file_type
        self._banks: dict[str, NDArray[np.uint8]] = {}

    def vector(self, role: str, il: int, values: FloatRows, suffix: str = ".weight") -> Part:
        """Values in F32, kept in their shape."""
        tensor = TensorSpec(_name(role, il, suffix), TENSOR_TYPES["f32"], values.shape[::-1])
        rows = values.reshape(-1, values.shape[-1])
        return Part(tensor, lambda: self._quantised(tensor, rows))

    def constant(self, role: str, il: int, value: float, *ne: int, suffix: str = ".weight") -> Part:
        """One value in F32 everywhere."""
        return self.vector(role, il, np.full(ne[::-1], value, dtype=np.float32), suffix)

    def matrix(self, role: str, il: int, rows: Callable[[], FloatRows], *ne: int) -> Part:
        """`rows` are made when they are written."""
        tensor = self._matrix(role, il, *ne)
        return Part(tensor, lambda: self._quantised(tensor, rows()))

    def router(self, il: int) -> Part:
        """In F32, as all files have it."""
        shape = (self.shape.n_embd, self.shape.n_expert)
        tensor = TensorSpec(_name("ffn_gate_inp", il), TENSOR_TYPES["f32"], shape)
        return Part(tensor, lambda: self._quantised(tensor, self.network.router(il)))

    def banked(self, role: str, il: int, n_rows: int) -> Part:
        """A matrix that reads the stream, of the bank's rows."""
        return self._of_bank(self._matrix(role, il, self.shape.n_embd, n_rows), role, il, 1)

    def banked_experts(self, role: str, il: int, n_rows: int) -> Part:
        """One such matrix per expert."""
        s = self.shape
        tensor = self._matrix(role, il, s.n_embd, n_rows, s.n_expert)
        return self._of_bank(tensor, role, il, s.n_expert)

    def down_experts(self, il: int, bank: Callable[[], FloatRows]) -> Part:
        """The experts' down projections, of the rows of `bank` [n_embd, n_ff_exp]."""
        s = self.shape
        tensor = self._matrix("ffn_down_exps", il, s.n_ff_exp, s.n_embd, s.n_expert)

        def chunks() -> Chunks:
            orders = (self.network.down_order(il, e) for e in range(s.n_expert))
            return self._composed(quantize(tensor.type.name, bank()), orders)

        return Part(tensor, chunks)

    def _of_bank(self, tensor: TensorSpec, role: str, il: int, n: int) -> Part:
        """`n` matrices of the bank's rows, whose order is drawn when they are written."""

        def chunks() -> Chunks:
            orders = (self.network.bank_order(role, il, tensor.ne[1], at) for at in range(n))
            return self._composed(self._bank(tensor.type.name), orders)

        return Part(tensor, chunks)

    def _matrix(self, role: str, il: int, *ne: int) -> TensorSpec:
        return TensorSpec(
            _name(role, il), tensor_type(self._file_type, self.shape, role, il, ne[0]), ne
        )

    def _quantised(self, tensor: TensorSpec, rows: FloatRows) -> Chunks:
        yield quantize(tensor.type.name, rows)

    def _bank(self, type: str) -> NDArray[np.uint8]:
        if type not in self._banks:
            self._banks[type] = quantize(type, self.network.bank())
        return self._banks[type]

    def _composed(self, bank: NDArray[np.uint8], orders: Iterable[RowOrder]) -> Chunks:
        """Matrices made of a bank's rows, several to a chunk."""
        pending: list[RowOrder] = []
        n_rows = 0
        for order in orders:
            pending.append(order)
            n_rows += len(order)
            if n_rows * bank.shape[1] >= _CHUNK_BYTES:
                yield bank[np.concatenate(pending)]
                pending, n_rows = [], 0
        if pending:
            yield bank[np.concatenate(pending)]


def _name(role: str, il: int, suffix: str = ".weight") -> str:
    return f"{role}{suffix}" if il < 0 else f"blk.{il}.{role}{suffix}"
