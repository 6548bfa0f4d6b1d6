"""Samples of one signal as they arrived: the currency in which the pipeline is fed."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import ShapeError


@dataclass(slots=True, eq=False)
class Samples:
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

    def __len__(self) -> int:
        return len(self.stamps)

    def rows(self, rows: np.ndarray | slice) -> 'Samples':
        """The samples that a mask, indices or a slice selects."""
        return Samples(self.stamps[rows], self.values[rows])

    def followed_by(self, later: 'Samples') -> 'Samples':
        """These samples, then those of `later`."""
        return Samples(
            np.concatenate([self.stamps, later.stamps]),
            np.concatenate([self.values, later.values]),
        )


def joined(parts: list[Samples], like: Samples) -> Samples:
    """Samples one after the other; none, of the width of `like`, if there are none."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return like.rows(slice(0, 0))
    if len(parts) == 1:
        return parts[0]
    return Samples(
        np.concatenate([part.stamps for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


Signals = dict[str, Samples]
"""Samples of several signals by name; those that have none may be left out."""
