"""Samples of one signal as they arrived: the currency in which the pipeline is fed."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import ShapeError


@dataclass(slots=True, eq=False)
class Samples(Record):
    """Samples of one signal in the order of arrival.

    Attributes:
        stamps: (T,) [ns].
        values: (T, m); what the m numbers are depends on the signal, see `evaluator.Evaluator`.
    """

    stamps: Stamps
    values: Array

    @classmethod
    def empty(cls, width: int) -> 'Samples':
        """No samples of m = `width` values."""
        return cls(np.empty(0, dtype=np.int64), np.empty((0, width)))

    @classmethod
    def one(cls, stamp: int, values: Array) -> 'Samples':
        """A single sample (m,) at `stamp` [ns], which is copied."""
        return cls(np.array([stamp]), np.array([values], dtype=np.float64))

    def check_width(self, signal: str, width: int) -> None:
        """Refuse samples that do not have the shape (T, width).

        Raises:
            ShapeError: if stamps or values have another shape.
        """
        if self.values.shape != (len(self.stamps), width):
            raise ShapeError(signal, f'({len(self.stamps)}, {width})', self.values.shape)


Signals = dict[str, Samples]
"""Samples of several signals by name; those that have none may be left out."""
