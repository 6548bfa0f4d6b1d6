"""Residuals on the parts of the motion that are held out, as quadratic forms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.linear import Linear
from izmp_dynamics.calibration.noise import vectors
from izmp_dynamics.calibration.validation import FOLDS
from izmp_dynamics.pipeline.rig import Rig

LEAST_FORCE = 1e-3
"""Forces matter from this part of the weight on, as a tilt of a milliradian has it [-]."""

LEAST_ARM = 0.5e-3
"""Moments matter if they move the IZMP so far [m]."""

LEAST_RATE = 1e-3
"""Angular velocities matter from here on [rad/s]."""


@dataclass(frozen=True)
class Judged:
    """Residuals of a kind on P parts of the motion, as a quadratic form in changes of x.

    Attributes:
        A: (P, N, N) Σ JᵀJ of each part.
        b: (P, N) Σ Jᵀv.
        c: (P,) Σ v².
        count: (P,) rows.
        least: what matters.
    """

    A: Array
    b: Array
    c: Array
    count: Array
    least: float

    @classmethod
    def of(
        cls, held: npt.NDArray[np.intp], values: Array, jacobian: Array, least: float
    ) -> 'Judged':
        """Sum up residuals (M, c) that belong to parts `held` (M,), −1 to none."""
        size = jacobian.shape[2]
        A, b, c = np.zeros((FOLDS, size, size)), np.zeros((FOLDS, size)), np.zeros(FOLDS)
        for part in range(FOLDS):
            J, v = jacobian[held == part].reshape(-1, size), values[held == part].reshape(-1)
            A[part], b[part], c[part] = J.T @ J, J.T @ v, v @ v
        count = np.array([np.count_nonzero(held == part) for part in range(FOLDS)])
        return cls(A, b, c, count, least)

    @classmethod
    def total(cls, pieces: Sequence['Judged']) -> 'Judged':
        """The same kind in several pieces of the recording together."""
        A, b, c, count = (
            np.sum([getattr(piece, name) for piece in pieces], axis=0)
            for name in ('A', 'b', 'c', 'count')
        )
        return cls(A, b, c, count, pieces[0].least)

    def mean_squares(self, parts: Sequence[int], changes: Array) -> Array:
        """(I,) of residuals on P parts of the motion, with x changed by (P, I, N)."""
        y, A, b = changes, self.A[parts], self.b[parts, :, None]
        squares = (y @ A * y).sum(axis=2) + 2.0 * (y @ b)[..., 0] + self.c[parts, None]
        total: Array = squares.sum(axis=0) / max(1, int(self.count[parts].sum()))
        return total


def judge(linear: Sequence[Linear], rig: Rig, held: npt.NDArray[np.intp]) -> list[Judged]:
    """Sum up residuals by kind, forces apart from moments.

    Args:
        linear: residuals at some instants, whose indices are `row`.
        rig: the robot.
        held: (K,) number of the part of the motion that an instant belongs to, −1 for none.
    """
    gravity = rig.robot.gravity
    weight = rig.model.total_mass * gravity
    found = []
    for part in linear:
        least: tuple[float, ...] = (LEAST_FORCE * weight, LEAST_ARM * weight)
        if part.name.startswith('gyroscope'):
            least = (LEAST_RATE,)
        if part.name.startswith('accelerometer'):
            least = (LEAST_FORCE * gravity,)
        for columns, matters in zip(vectors(part), least, strict=False):
            values, jacobian = part.values[:, columns], part.jacobian[:, columns]
            found.append(Judged.of(held[part.row], values, jacobian, matters))
    return found
