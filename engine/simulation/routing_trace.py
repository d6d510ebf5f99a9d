"""RoutingTrace: which experts the routers of a run chose, and what they scored the others."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import errors
from engine.simulation import trace_file
from engine.simulation.trace_file import DIMENSIONS


@dataclass(frozen=True, eq=False)
class RoutingTrace:
    """The routing of some decode steps. Raises InvalidRequestError when arrays do not fit.

    Attributes:
        experts: int16 [n_step, n_request, n_layer, n_used], distinct within a layer. A request
            that takes no part in a step has -1 everywhere in it.
        probabilities: float16 [n_step, n_request, n_layer, n_expert], softmax of the routers; None
            when not recorded.
        lookahead: float16 [n_step, n_request, n_layer, n_lookahead, n_expert]: row d of layer l is
            the softmax of the router of layer l + 1 + d for what the router of l has read; 0 beyond
            the last layer. None when not recorded.
        model: Title of the model.
        record_bytes: Of one expert on disk.
        n_expert: Per layer; 0 takes it from the scores, else from the highest number named.
    """

    experts: NDArray[np.int16]
    probabilities: NDArray[np.float16] | None
    lookahead: NDArray[np.float16] | None
    model: str
    record_bytes: int
    n_expert: int = 0

    def __post_init__(self) -> None:
        for name in ("experts", "probabilities", "lookahead"):
            object.__setattr__(self, name, _array(name, getattr(self, name)))
        object.__setattr__(self, "n_expert", self.n_expert or self._known_experts())
        self._check_sizes()
        self._check_experts()

    @property
    def n_step(self) -> int:
        """Decode steps."""
        return int(self.experts.shape[0])

    @property
    def n_request(self) -> int:
        """Requests, of which each step may have fewer."""
        return int(self.experts.shape[1])

    @property
    def n_layer(self) -> int:
        """Layers that have experts."""
        return int(self.experts.shape[2])

    @property
    def n_used(self) -> int:
        """Experts per token and layer."""
        return int(self.experts.shape[3])

    @property
    def n_lookahead(self) -> int:
        """Layers that each router's lookahead covers; 0 when there is none."""
        return 0 if self.lookahead is None else int(self.lookahead.shape[3])

    @property
    def experts_total_bytes(self) -> int:
        """Of all experts of all layers."""
        return self.n_layer * self.n_expert * self.record_bytes

    def first(self, n_request: int) -> "RoutingTrace":
        """The trace of the first `n_request` requests. Raises InvalidRequestError."""
        if not 1 <= n_request <= self.n_request:
            raise errors.InvalidRequestError(
                f"The trace has {self.n_request} requests, not {n_request}"
            )
        if n_request == self.n_request:
            return self
        probabilities, lookahead = self.probabilities, self.lookahead
        return RoutingTrace(
            self.experts[:, :n_request],
            None if probabilities is None else probabilities[:, :n_request],
            None if lookahead is None else lookahead[:, :n_request],
            self.model,
            self.record_bytes,
            self.n_expert,
        )

    def save(self, path: Path) -> None:
        """Write it, whole or not at all. Raises StorageError."""
        arrays: trace_file.Arrays = {"experts": self.experts}
        for name, scores in (("probabilities", self.probabilities), ("lookahead", self.lookahead)):
            if scores is not None:
                arrays[name] = scores
        meta = trace_file.Meta(
            model=self.model, record_bytes=self.record_bytes, n_expert=self.n_expert
        )
        trace_file.write(path, meta, arrays)

    @classmethod
    def load(cls, path: Path | str) -> "RoutingTrace":
        """Read it. Raises ModelFileError naming the field that is wrong, or StorageError."""
        path = Path(path)
        meta, arrays = trace_file.read(path)
        try:
            return cls(
                arrays["experts"],
                arrays.get("probabilities"),
                arrays.get("lookahead"),
                meta.model,
                meta.record_bytes,
                meta.n_expert,
            )
        except errors.InvalidRequestError as error:
            trace_file.refuse(path, f"does not fit together. {error.message}")

    def _known_experts(self) -> int:
        for scores in (self.probabilities, self.lookahead):
            if scores is not None:
                return int(scores.shape[-1])
        return int(self.experts.max(initial=0)) + 1

    def _check_sizes(self) -> None:
        if 0 in self.experts.shape:
            raise _invalid(f"experts has the shape {self.experts.shape}, in which something is 0")
        if not self.n_used <= self.n_expert < 1 << 15:
            raise _invalid(f"n_expert is {self.n_expert}, with {self.n_used} experts per token")
        if self.record_bytes < 1:
            raise _invalid(f"record_bytes is {self.record_bytes}")
        jobs = self.experts.shape[:3]
        if self.probabilities is not None and self.probabilities.shape != (*jobs, self.n_expert):
            raise _invalid(
                f"probabilities has the shape {self.probabilities.shape},"
                f" not {(*jobs, self.n_expert)}"
            )
        lookahead = (*jobs, max(1, self.n_lookahead), self.n_expert)
        if self.lookahead is not None and self.lookahead.shape != lookahead:
            raise _invalid(f"lookahead has the shape {self.lookahead.shape}, not {lookahead}")

    def _check_experts(self) -> None:
        absent = self.experts < 0
        whole = absent.all(axis=(2, 3)) | ~absent.any(axis=(2, 3))
        named = np.sort(self.experts, axis=3)
        wrong = (named[..., -1] >= self.n_expert) | (named[..., 0] < -1)
        twice = ((named[..., 1:] == named[..., :-1]) & (named[..., 1:] >= 0)).any(axis=3)
        for bad, what in (
            (~whole, "takes part with some of its experts only"),
            (wrong, f"names an expert that is not in 0 .. {self.n_expert - 1}"),
            (twice, "names an expert twice"),
        ):
            if bad.any():
                at = [int(n) for n in np.argwhere(bad)[0]]
                place = ", ".join(
                    f"{axis} {n}" for axis, n in zip(("step", "request", "layer"), at, strict=False)
                )
                raise _invalid(f"experts: {place} {what}")


# Half-precision numbers from 0 to 1 are in the order of their bits; all others have more.
_BITS_OF_ONE = 0x3C00


def _array(name: str, array: NDArray[Any] | None) -> NDArray[Any] | None:
    if array is None:
        return None
    if array.ndim != DIMENSIONS[name]:
        raise _invalid(f"{name} has {array.ndim} dimensions, not {DIMENSIONS[name]}")
    if name == "experts":
        if array.dtype.kind not in "iu":
            raise _invalid(f"experts are {array.dtype}, not whole numbers")
        if array.size and not -1 <= int(array.min()) <= int(array.max()) < 1 << 15:
            raise _invalid("experts names numbers that are not in -1 .. 32767")
        return np.ascontiguousarray(array, dtype=np.int16)
    if array.dtype.kind != "f":
        raise _invalid(f"{name} are {array.dtype}, not floating-point numbers")
    with np.errstate(over="ignore"):
        scores = np.ascontiguousarray(array, dtype=np.float16)
    if scores.view(np.uint16).max(initial=0) > _BITS_OF_ONE:
        raise _invalid(f"{name} has scores that are not in 0 .. 1")
    return scores


def _invalid(what: str) -> errors.InvalidRequestError:
    return errors.InvalidRequestError(f"Routing trace: {what}")
