"""Which way is up for a standing foot: the IMUs in the feet (sect. 6, fifth point).

A foot that stands does not move, so its accelerometer measures gravity alone and shows how the
ground that it stands on is inclined. It is averaged over the latest rest, which removes the noise
of the sensor and the rocking of the foot.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags
from izmp_dynamics.base.kernel import kernel

LONGEST_MEMORY = 0.5
"""Time over which a rest is averaged at most [s]."""

TURNING = 0.3
"""Angular velocity up to which a foot is at rest [rad/s]."""

SHAKING = 1.0
"""Difference between specific force and gravity up to which it is [m/s²]."""


def foot_tilt(
    angular_velocity: Array, specific_force: Array, memory: int, gravity: float
) -> Array:
    """Find the vertical in a foot while it stands.

    At every instant the mean of the latest samples counts that were all at rest, so the result is
    the same live as offline.

    Args:
        angular_velocity: (T, 3) of the foot in the sole's axes [rad/s].
        specific_force: (T, 3) φ at the foot in the sole's axes [m/s²].
        memory: samples that are averaged at most.
        gravity: at the place [m/s²].

    Returns:
        (T, 3) unit vectors against gravity in the sole's axes; NaN while the foot moves.
    """
    with np.errstate(invalid='ignore'):
        turning = np.linalg.norm(angular_velocity, axis=1)
        shaking = np.abs(np.linalg.norm(specific_force, axis=1) - gravity)
        calm = np.asarray((turning <= TURNING) & (shaking <= SHAKING))
    return _directions(np.ascontiguousarray(specific_force, np.float64), calm, max(1, memory))


@kernel
def _directions(force: Array, calm: Flags, memory: int) -> Array:
    """(T, 3) direction of the mean over the latest calm samples, at most `memory` of them.

    Summed anew at every instant, so that a window of a log gives the numbers of the whole log.
    """
    up = np.full(force.shape, np.nan)
    for t in range(len(force)):
        if not calm[t]:
            continue
        total = np.zeros(3)
        k = t
        while k >= 0 and calm[k] and t - k < memory:
            total += force[k]
            k -= 1
        up[t] = total / np.sqrt(np.sum(total * total))
    return up
