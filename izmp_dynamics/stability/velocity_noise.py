"""How much noise is in the velocity of the centre of mass, from the acceleration of the joints.

Noise of the joint positions and jitter of the stamps act on velocity and acceleration alike, in a
ratio that follows from the difference quotient or the filter (`pipeline/kernel_noise.py`). The
acceleration shows them best, so all of it counts as noise: of each m/s² of motion that makes
3 mm/s at 100 Hz without a filter. What one instant shows counts beside the mean of the last
second, since errors of stamps come one by one; so even noise counts with twice its variance.
"""

import numpy as np

from izmp_dynamics.conventions import NANOSECONDS, Array, Stamps

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
        covariance = np.empty((len(stamps), 3, 3))
        squares = acceleration[:, :, None] * acceleration[:, None, :]
        for k, stamp in enumerate(stamps.tolist()):
            kept = np.exp(-max(stamp - self._last, 0) / NANOSECONDS / MEMORY)
            self._sum, self._weight, self._last = kept * self._sum, kept * self._weight, stamp
            covariance[k] = 0.0
            if known[k]:
                covariance[k] = squares[k]
                self._sum, self._weight = self._sum + squares[k], self._weight + 1.0
            if self._weight:
                covariance[k] += self._sum / self._weight
        return ratio**2 * covariance
