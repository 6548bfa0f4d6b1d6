"""Which way is up for a standing foot: the IMUs in the feet (sect. 6, fifth point).

A foot that stands does not move, so its accelerometer feels gravity alone and tells how the ground
that it stands on is inclined. It is averaged from the landing on, which removes the noise of the
sensor and the rocking of the foot.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import GRAVITY, Array
from izmp_dynamics.errors import SensingError, ShapeError

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FootTilt:
    """The vertical as a foot's IMU sees it at T instants.

    Attributes:
        up: (T, 3) unit vector against gravity in the sole's axes; NaN where it is not known.
        known: (T,) whether the foot has been at rest since it landed.
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
                f'{self.turning} rad/s, {self.shaking} m/s² and {self.gravity} m/s².'
            )


def foot_tilt(
    angular_velocity: Array, specific_force: Array, loaded: Mask, rest: FootRest | None = None
) -> FootTilt:
    """Find the vertical in a foot while it stands.

    At every instant only the samples since the landing count, so the result is the same live as
    offline. From lift-off to the first sample at rest after the landing it is not known.

    Args:
        angular_velocity: (T, 3) of the foot in the sole's axes [rad/s].
        specific_force: (T, 3) φ at the foot in the sole's axes [m/s²].
        loaded: (T,) whether the foot carries load.
        rest: when it counts as being at rest.
    """
    count = len(loaded)
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
        calm = loaded & (turning <= rest.turning) & (shaking <= rest.shaking)
    sums = np.cumsum(np.where(calm[:, None], specific_force, 0.0), axis=0)
    numbers = np.cumsum(calm)
    landing = _landing(np.asarray(loaded, np.bool_))
    before = np.maximum(landing - 1, 0)
    offset = np.where((landing > 0)[:, None], sums[before], 0.0)
    since = numbers - np.where(landing > 0, numbers[before], 0)
    known = np.asarray(loaded & (since > 0))
    up = np.where(known[:, None], sums - offset, np.nan)
    return FootTilt(up / np.linalg.norm(up, axis=1, keepdims=True), known)


def _landing(loaded: Mask) -> npt.NDArray[np.intp]:
    """(T,) row at which the current stance began; for instants without load any row."""
    rows = np.arange(len(loaded))
    first = loaded & ~np.concatenate([[False], loaded[:-1]])
    landing: npt.NDArray[np.intp] = np.maximum.accumulate(np.where(first, rows, 0))
    return landing
