"""How much noise is in the velocity of the centre of mass, from the acceleration of the joints.

Noise of the joint positions and jitter of the stamps act on velocity and acceleration alike, in a
ratio that follows from the difference quotient or the filter (`pipeline/kernel_noise.py`). The
acceleration shows them best, so all of it counts as noise: of each m/s² of motion that makes
3 mm/s at 100 Hz without a filter. What one instant shows counts beside the mean of the last
second, since errors of stamps come one by one; so even noise counts with twice its variance.
"""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.kernel import kernel

MEMORY = 1.0
"""Time over which the mean fades [s]: about a stride, since a joint at rest shows no jitter."""


class VelocityNoise:
    """Judges instants one after the other; pieces of any length give the same results."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the noise."""
        self._sum, self._weight, self._last = np.zeros((3, 3)), 0.0, 0

    def push(self, stamps: Stamps, acceleration: Array, ratio: float) -> Array:
        """Covariance of the velocity at the next instants.

        Args:
            stamps: (K,) [ns].
            acceleration: (K, 3) of the centre of mass by the joints' accelerations alone [m/s²].
            ratio: standard deviation of a velocity over that of its acceleration [s].

        Returns:
            (K, 3, 3) [m²/s²]; of an instant without an acceleration that of the ones before.
        """
        known = np.asarray(np.isfinite(acceleration).all(axis=1))
        squares = acceleration[:, :, None] * acceleration[:, None, :]
        elapsed = np.diff(stamps, prepend=self._last)
        kept = np.exp(-np.maximum(elapsed, 0) / NANOSECONDS / MEMORY)
        covariance, self._weight = _faded(squares, known, kept, self._sum, self._weight)
        if len(stamps):
            self._last = int(stamps[-1])
        return ratio**2 * covariance


@kernel
def _faded(
    squares: Array, known: npt.NDArray[np.bool_], kept: Array, total: Array, weight: float
) -> tuple[Array, float]:
    """What every instant shows, beside the fading mean of those up to it.

    Args:
        squares: (K, 3, 3) what the instants show.
        known: (K,) whether they show anything.
        kept: (K,) by how much the sum fades up to the instant.
        total: (3, 3) the sum before; changed to that after.
        weight: the weight of that sum.

    Returns:
        (K, 3, 3), and the weight of the sum after.
    """
    covariance = np.zeros(squares.shape)
    for k in range(len(squares)):
        weight = weight * kept[k] + 1.0 if known[k] else weight * kept[k]
        for i in range(3):
            for j in range(3):
                total[i, j] *= kept[k]
                if known[k]:
                    covariance[k, i, j] = squares[k, i, j]
                    total[i, j] += squares[k, i, j]
                if weight:
                    covariance[k, i, j] += total[i, j] / weight
    return covariance, weight
