"""Which way is up for a standing foot: the IMUs in the feet (sect. 6, fifth point).

A foot that stands does not move, so its accelerometer measures gravity alone and shows how the
ground that it stands on is inclined. It is averaged over the latest rest, which removes the noise
of the sensor and the rocking of the foot.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import GRAVITY, Array
from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.base.kernel import kernel

Mask = npt.NDArray[np.bool_]

LONGEST_MEMORY = 0.5
"""Time over which a rest is averaged at most [s]."""


@dataclass(frozen=True)
class FootTilt:
    """The vertical as a foot's IMU sees it at T instants.

    Attributes:
        up: (T, 3) unit vector against gravity in the sole's axes; NaN where it is not known.
        known: (T,) whether the foot is at rest.
    """

    up: Array
    known: Mask


@dataclass(frozen=True)
class FootRest:
    """When a foot counts as being at rest.

    Attributes:
        turning: largest angular velocity [rad/s].
        shaking: largest difference between specific force and gravity [m/s²].
        gravity: at the place [m/s²].
    """

    turning: float = 0.3
    shaking: float = 1.0
    gravity: float = GRAVITY

    def __post_init__(self) -> None:
        """Refuse limits that no foot keeps.

        Raises:
            SensingError: if a number is not positive.
        """
        if not min(self.turning, self.shaking, self.gravity) > 0.0:
            raise SensingError(
                'A foot at rest needs positive limits and gravity, not '
                f'{self.turning} rad/s, {self.shaking} m/s² and {self.gravity} m/s².',
                kind='foot_rest_limits',
                limits=(self.turning, self.shaking, self.gravity),
            )


def foot_tilt(
    angular_velocity: Array, specific_force: Array, memory: int, rest: FootRest | None = None
) -> FootTilt:
    """Find the vertical in a foot while it stands.

    At every instant the mean of the latest samples counts that were all at rest, so the result is
    the same live as offline. It is not known while the foot moves.

    Args:
        angular_velocity: (T, 3) of the foot in the sole's axes [rad/s].
        specific_force: (T, 3) φ at the foot in the sole's axes [m/s²].
        memory: samples that are averaged at most.
        rest: when the foot counts as being at rest.
    """
    count = len(angular_velocity)
    for name, values in (
        ('angular_velocity', angular_velocity),
        ('specific_force', specific_force),
    ):
        if np.shape(values) != (count, 3):
            raise ShapeError(name, f'({count}, 3)', np.shape(values))
    rest = rest or FootRest()
    with np.errstate(invalid='ignore'):
        turning = np.linalg.norm(angular_velocity, axis=1)
        shaking = np.abs(np.linalg.norm(specific_force, axis=1) - rest.gravity)
        calm = np.asarray((turning <= rest.turning) & (shaking <= rest.shaking))
    force = np.ascontiguousarray(specific_force, dtype=np.float64)
    up = _directions(force, calm, max(1, memory))
    return FootTilt(up, calm)


@kernel
def _directions(force: Array, calm: Mask, memory: int) -> Array:
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
