"""How much noise is in the velocity of the centre of mass, from the acceleration of the joints.

Noise of the joint positions and jitter of the stamps act on velocity and acceleration alike, in a
ratio that follows from the difference quotient or the filter (`pipeline/noise_propagation`). The
acceleration shows them best, so all of it counts as noise: of each m/s² of motion that makes
3 mm/s at 100 Hz without a filter. What one instant shows counts beside the mean of the last
second, since errors of stamps come one by one; so even noise counts with twice its variance.
"""

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.kernel import kernel

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
        covariance = np.empty((len(stamps), 3, 3))
        self._weight = _evaluate(
            stamps, acceleration, float(ratio), self._last, self._sum, self._weight, covariance
        )
        if len(stamps):
            self._last = int(stamps[-1])
        return covariance


@kernel
def _evaluate(
    stamps: Stamps,
    acceleration: Array,
    ratio: float,
    last: int,
    total: Array,
    weight: float,
    covariance: Array,
) -> float:
    """Write what `VelocityNoise.push` returns: what an instant shows, beside the fading mean.

    `total` is the fading sum of what the instants up to the `last` one show; it is changed to that
    after, whose weight is returned.
    """
    for k in range(len(stamps)):
        kept = np.exp(-max(stamps[k] - last, 0) / NANOSECONDS / MEMORY)
        last = stamps[k]
        weight *= kept
        known = np.isfinite(acceleration[k]).all()
        if known:
            weight += 1.0
        for i in range(3):
            for j in range(3):
                total[i, j] *= kept
                shown = 0.0
                if known:
                    shown = acceleration[k, i] * acceleration[k, j]
                    total[i, j] += shown
                if weight:
                    shown += total[i, j] / weight
                covariance[k, i, j] = ratio**2 * shown
    return weight
