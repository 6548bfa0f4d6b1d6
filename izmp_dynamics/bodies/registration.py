"""Where force plates are against the motion: the feet that roll over them show it.

A foot that walks is loaded from heel to toes: the middle of that path is the middle of the sole.
Where it is not, either the sole is longer than it is taken to be, which is ahead of each foot, or
the plates are shifted, which has one direction in the world. Steps in several directions separate
the two.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import Array

_SCATTER = 0.015
"""Of the middle of the path of a step, a standard deviation [m]."""

_SOLE = 0.02
"""How far the middle of a sole may be off, a standard deviation [m]."""

_ROLLED = 0.5
"""Part of the sole that the path of a step covers at least [-]."""


class Step(NamedTuple):
    """What one foot felt from touch-down to lift-off, alone.

    Attributes:
        corners: (4, 2) of its sole, in its link [m].
        path: (N, 2) centre of pressure there [m].
        R: (N, 3, 3) world_R_link.
    """

    corners: Array
    path: Array
    R: Array


class Shift(NamedTuple):
    """How far plates are from where the feet say.

    Attributes:
        value: (2,) in the world, from where they are to where they are taken to be [m].
        sigma: (2,) standard deviations [m].
        steps: how many show it.
    """

    value: Array
    sigma: Array
    steps: int

    @property
    def is_clear(self) -> bool:
        """Whether it is neither chance nor smaller than what soles leave open."""
        return bool((np.abs(self.value) > np.maximum(3.0 * self.sigma, _SOLE)).any())


def find_shift(steps: Sequence[Step]) -> Shift | None:
    """Find the shift that all plates have in common.

    Args:
        steps: of all feet.

    Returns:
        The shift; None if fewer than three feet rolled over a plate.
    """
    rows, given = [], []
    for heading, offset in _offsets(steps):
        rows.append(np.column_stack([np.eye(2), heading]))
        given.append(offset)
    if len(rows) < 3:
        return None
    prior = np.array([0.0, 0.0, _SCATTER / _SOLE])  # on the sole alone
    A, y = np.vstack([*rows, prior]), np.append(np.concatenate(given), 0.0)
    covariance = np.linalg.inv(A.T @ A)
    x = covariance @ A.T @ y
    scatter = max(_SCATTER, float(np.sqrt(np.sum((y - A @ x) ** 2) / (len(y) - 3))))
    return Shift(x[:2], scatter * np.sqrt(np.diag(covariance)[:2]), len(rows))


def _offsets(steps: Sequence[Step]) -> Iterator[tuple[Array, Array]]:
    """Of steps that roll: direction of the foot (2,), middle of path from that of sole (2,)."""
    for step in steps:
        low, high = np.percentile(step.path, (2.0, 98.0), axis=0)
        if high[0] - low[0] > _ROLLED * np.ptp(step.corners[:, 0]):
            heading = step.R[:, :2, 0].sum(axis=0)
            heading /= np.linalg.norm(heading)
            x, y = (low + high) / 2.0 - step.corners.mean(axis=0)
            yield heading, x * heading + y * np.array([-heading[1], heading[0]])
