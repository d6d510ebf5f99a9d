"""Heights: where each of many rows begins."""

from collections.abc import Iterable

import numpy as np


class Heights:
    """Heights of rows, in pixels, and their sums. All calls are cheap for many thousand rows."""

    def __init__(self, top: int = 0, bottom: int = 0):
        """`top`, `bottom`: Space before the first and after the last."""
        self._top = top
        self._bottom = bottom
        self._heights = np.zeros(0, dtype=np.int64)
        self._tops: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self._heights)

    def reset(self, heights: Iterable[int]) -> None:
        """Have these rows."""
        self._heights = np.fromiter(heights, dtype=np.int64)
        self._tops = None

    def append(self, height: int) -> None:
        """One more at the end."""
        self._heights = np.append(self._heights, height)
        self._tops = None

    def truncate(self, n: int) -> None:
        """Keep the first n rows."""
        self._heights = self._heights[:n]
        self._tops = None

    def set(self, index: int, height: int) -> bool:
        """Change one; whether it was another."""
        if self._heights[index] == height:
            return False
        self._heights[index] = height
        self._tops = None
        return True

    def height(self, index: int) -> int:
        """Of one row."""
        return int(self._heights[index])

    def top(self, index: int) -> int:
        """Where a row begins; of the row after the last: where the rows end."""
        return int(self._sums()[index])

    @property
    def total(self) -> int:
        """Of everything."""
        return int(self._sums()[-1]) + self._bottom

    def index_at(self, y: float) -> int:
        """The row at a height, or the nearest one; -1 without rows."""
        found = int(np.searchsorted(self._sums(), y, side="right")) - 1
        return min(max(found, 0), len(self) - 1)

    def _sums(self) -> np.ndarray:
        if self._tops is None:
            self._tops = np.concatenate(([0], np.cumsum(self._heights))) + self._top
        return self._tops
