"""ExpertMap: which experts are in the cache, and how often each was needed."""

import numpy as np
from numpy.typing import NDArray

from engine import trace
from engine.trace import Event, Records

NEVER = -1


class ExpertMap:
    """Learned from what jobs asked of the cache, so experts that nobody asks for stay unknown.

    Attributes:
        uses: [n_layer, n_expert], how often a job needed the expert.
        resident: [n_layer, n_expert], whether it is in the cache, as far as is known.
        last_use_ns: [n_layer, n_expert], when it was needed last; NEVER before.
        last_miss_ns: [n_layer, n_expert], when it was last missing; NEVER before.
    """

    def __init__(self, n_layer: int = 0, n_expert: int = 0):
        shape = (n_layer, n_expert)
        self.uses: NDArray[np.int64] = np.zeros(shape, dtype=np.int64)
        self.resident: NDArray[np.bool_] = np.zeros(shape, dtype=bool)
        self.last_use_ns: NDArray[np.int64] = np.full(shape, NEVER, dtype=np.int64)
        self.last_miss_ns: NDArray[np.int64] = np.full(shape, NEVER, dtype=np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """Layers, experts per layer."""
        n_layer, n_expert = self.uses.shape
        return n_layer, n_expert

    def add(self, records: Records) -> None:
        """Take over cache decisions; records are in the order of time."""
        found = trace.of(records, Event.HIT, Event.JOIN, Event.MISS, Event.EVICT)
        if not len(found):
            return
        self._grow(int(found["layer"].max()) + 1, int(found["expert"].max()) + 1)
        n_expert = self.uses.shape[1]
        experts = found["layer"].astype(np.int64) * n_expert + found["expert"]
        is_miss = found["event"] == int(Event.MISS)
        is_evict = found["event"] == int(Event.EVICT)
        needed = experts[~is_evict]
        self.uses += np.bincount(needed, minlength=self.uses.size).reshape(self.uses.shape)
        # Of several assignments to one place the last one, which is the newest, stays.
        self.last_use_ns.flat[needed] = found["begin_ns"][~is_evict]
        self.last_miss_ns.flat[experts[is_miss]] = found["begin_ns"][is_miss]
        self._move(experts, found["b"], is_miss, is_evict)

    def forget_residents(self) -> None:
        """Nobody knows any more: records are missing, or the cache was emptied."""
        self.resident[:] = False

    def _move(
        self,
        experts: NDArray[np.int64],
        evicted: NDArray[np.int64],
        is_miss: NDArray[np.bool_],
        is_evict: NDArray[np.bool_],
    ) -> None:
        """The newest thing said of each expert holds."""
        n = len(experts)
        goes = np.flatnonzero(is_miss & (evicted >= 0) & (evicted < self.resident.size))
        place = np.arange(n, dtype=np.int64)
        said_of = np.concatenate((experts, evicted[goes]))
        when = np.concatenate((2 * place + 1, 2 * place[goes]))  # a miss evicts, then takes
        stays = np.concatenate((~is_evict, np.zeros(len(goes), dtype=bool)))
        order = np.argsort(when)
        self.resident.flat[said_of[order]] = stays[order]

    def _grow(self, n_layer: int, n_expert: int) -> None:
        """A model that said less about itself than its records do."""
        have = self.uses.shape
        if n_layer <= have[0] and n_expert <= have[1]:
            return
        more = ((0, max(0, n_layer - have[0])), (0, max(0, n_expert - have[1])))
        self.uses = np.pad(self.uses, more)
        self.resident = np.pad(self.resident, more)
        self.last_use_ns = np.pad(self.last_use_ns, more, constant_values=NEVER)
        self.last_miss_ns = np.pad(self.last_miss_ns, more, constant_values=NEVER)
