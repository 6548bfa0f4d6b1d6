"""Normal equations of the recording, block by block of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.instants import RATE

BLOCK = 1.0
"""Length of a block [s]."""

STRETCH = 1_000_000
"""A block's label is the index of its stretch, times this, plus its number there."""

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Blocks:
    """Normal equations of B blocks of time, about a solution.

    Attributes:
        labels: (B,) see `block_labels`.
        H: (B, N, N).
        g: (B, N).
    """

    labels: Labels
    H: Array
    g: Array

    @classmethod
    def joined(cls, parts: Sequence['Blocks']) -> 'Blocks':
        """Blocks one after the other."""
        return cls(
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.H for part in parts]),
            np.concatenate([part.g for part in parts]),
        )

    def without(self, labels: Labels) -> 'Blocks':
        """The other blocks."""
        rows = ~np.isin(self.labels, labels)
        return Blocks(self.labels[rows], self.H[rows], self.g[rows])

    def total(self) -> 'Total':
        """Sum of all blocks."""
        return Total(self.H.sum(axis=0), self.g.sum(axis=0))

    def totals(self, counts: Array) -> 'Total':
        """D sums at once, each block as often as `counts` (D, B) says."""
        return Total(np.tensordot(counts, self.H, axes=1), counts @ self.g)


class Total(NamedTuple):
    """Normal equations of several blocks together: (…, N, N) and (…, N)."""

    H: Array
    g: Array


def block_labels(
    stretch: int | npt.NDArray[np.intp], row: npt.NDArray[np.intp]
) -> npt.NDArray[np.int64]:
    """(M,) label of the block of time of instants: that of their stretch, and its number there."""
    labels: npt.NDArray[np.int64] = stretch * STRETCH + (row / (RATE * BLOCK)).astype(np.int64)
    return labels
