"""An array that grows at its end, so that a long log's results are never there twice."""

from typing import Any

import numpy as np
import numpy.typing as npt


class Column:
    """Rows in the order in which they came.

    The array is replaced by one of twice the length when it is full. What is not filled yet takes
    no memory: the operating system gives it when it is written to.
    """

    def __init__(self) -> None:
        self._array: npt.NDArray[Any] | None = None
        self._count = 0

    def extend(self, rows: npt.NDArray[Any]) -> None:
        """Append rows (K, …); all must have one type and, but for K, one shape."""
        end = self._count + len(rows)
        if self._array is None or end > len(self._array):
            longer = np.empty((max(end, 2 * self._count), *rows.shape[1:]), rows.dtype)
            if self._array is not None:
                longer[: self._count] = self._array[: self._count]
            self._array = longer
        self._array[self._count : end] = rows
        self._count = end

    @property
    def rows(self) -> npt.NDArray[Any]:
        """All rows; a view that stays as it is when more are appended. (0,) before any came."""
        return np.empty(0) if self._array is None else self._array[: self._count]
