"""Which way is up, where no orientation is measured: the gyroscope follows it, φ corrects it.

In axes that turn with ω, a vector u that is fixed to the world changes by −ω × u. While the
specific force φ has about the magnitude of gravity it is upwards on average, so it takes out the
drift (a complementary filter of the vector alone, Mahony et al. 2008). Its memory is longer than a
fall.
"""

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.kernel import kernel

MEMORY = 2.0
"""Time over which the specific force is averaged [s]."""

LIKE_GRAVITY = 0.1
"""A specific force that differs from gravity by this part says nothing about it [-]."""

LONGEST_STEP = 0.1
"""Time that the gyroscope is trusted across [s]."""


class Vertical:
    """Follows the vertical through pieces of a recording.

    Args:
        gravity: [m/s²].
    """

    def __init__(self, gravity: float) -> None:
        self._gravity = gravity
        self._state = np.array([np.nan, np.nan, np.nan, 0.0])  # up, time that it is averaged over
        self._latest = 0

    def push(self, stamps: Stamps, omega: Array, phi: Array, known: Array) -> Array:
        """Continue with the next K instants.

        Args:
            stamps: (K,) [ns].
            omega: (K, 3) angular velocity of the root, in its axes [rad/s].
            phi: (K, 3) specific force [m/s²].
            known: (K, 3) the vertical where it is measured; NaN elsewhere.

        Returns:
            (K, 3) unit vectors against gravity in root axes; NaN where unknown.
        """
        up: Array = np.array(known, dtype=np.float64)
        if len(stamps):
            before = np.concatenate([[self._latest or stamps[0]], stamps[:-1]])
            steps = (stamps - before) / NANOSECONDS
            self._latest = int(stamps[-1])
            _follow(steps, np.array(omega), np.array(phi), self._gravity, self._state, up)
        return up


@kernel
def _follow(
    steps: Array, omega: Array, phi: Array, gravity: float, state: Array, up: Array
) -> None:
    """Fill in `up` (K, 3) where it is NaN; `state` is up and the time it is averaged over."""
    for k in range(len(steps)):
        now, last, w, step = up[k], state[:3], omega[k], steps[k]
        if np.isfinite(now[0] + now[1] + now[2]):
            last[:] = now
            state[3] = MEMORY
            continue
        if not step <= LONGEST_STEP or not np.isfinite(w[0] + w[1] + w[2]):
            last[:] = np.nan
        now[0] = last[0] + step * (last[1] * w[2] - last[2] * w[1])
        now[1] = last[1] + step * (last[2] * w[0] - last[0] * w[2])
        now[2] = last[2] + step * (last[0] * w[1] - last[1] * w[0])
        force = np.sqrt(phi[k, 0] ** 2 + phi[k, 1] ** 2 + phi[k, 2] ** 2)
        if abs(force / gravity - 1.0) < LIKE_GRAVITY:
            if np.isnan(now[0]):
                now[:], state[3] = phi[k] / force, 0.0
            state[3] = min(state[3] + step, MEMORY)
            gain = min(step / state[3], 1.0) if state[3] > 0.0 else 0.0
            now += gain * (phi[k] / force - now)
        now /= np.sqrt(now[0] ** 2 + now[1] ** 2 + now[2] ** 2)
        last[:] = now
