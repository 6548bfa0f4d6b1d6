"""Pose and linear velocity of the root in the world from a GPS and an IMU (sect. 4.5).

Only IR-MD and the views need them. The position of the root origin is that of the GPS less the
rotated arm between them; its velocity is a difference quotient of the position: the central one
by default, or the paper's backward one. That one is the mean velocity over (k-1, k); as in the
paper it is taken as the velocity at k.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps, frozen
from izmp_dynamics.base.errors import ShapeError
from izmp_dynamics.sensing.difference_stage import DifferenceStage
from izmp_dynamics.signals.differences import Mask
from izmp_dynamics.signals.imu import finite_or_nan
from izmp_dynamics.signals.stamps import Verdicts


@dataclass(frozen=True)
class RootPose:
    """Where the root link is in the world, and how fast its origin moves, at T instants.

    Attributes:
        stamps: (T,) the instants [ns].
        world_p_root: (T, 3) position of the root origin [m].
        world_R_root: (T, 3, 3) orientation of the root.
        linear_velocity: (T, 3) of the root origin, in world axes [m/s].
        valid: (T,) False where a value is missing; the entries that depend on it are NaN.
    """

    stamps: Stamps
    world_p_root: Array
    world_R_root: Array
    linear_velocity: Array
    valid: Mask

    def __len__(self) -> int:
        return len(self.stamps)

    def select(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> 'RootPose':
        """Return the instants that `rows` selects, a mask (T,) or indices (k,)."""
        return RootPose(
            self.stamps[rows],
            self.world_p_root[rows],
            self.world_R_root[rows],
            self.linear_velocity[rows],
            self.valid[rows],
        )


class Localizer(DifferenceStage[RootPose]):
    """Pose and velocity of the root from a GPS and an orientation (paper, sect. 4.5).

    Args:
        p_gps_in_root: (3,) position of the GPS in the root frame [m].
        period: nominal time between samples [s].
        options: of the difference quotient, as of `GyroDifference`.

    Raises:
        SensingError: a parameter that makes no sense.
    """

    def __init__(self, p_gps_in_root: Array, period: float, **options: Any) -> None:
        super().__init__(12, period, **options)
        self.p_gps_in_root = frozen(p_gps_in_root)

    def batch(
        self, stamps: Stamps, world_p_gps: Array, world_R_root: Array
    ) -> tuple[RootPose, Verdicts]:
        """Evaluate a log or a window of it.

        Args:
            stamps: (T,) common to position and orientation, as recorded [ns].
            world_p_gps: (T, 3) position of the GPS in the world [m].
            world_R_root: (T, 3, 3) orientation of the root in the world.

        Returns:
            The instants that have a velocity; the `StampVerdict` (T,) of each sample (0 if used).

        Raises:
            ShapeError: if an argument has another shape.
        """
        return self._batch(stamps, _samples(world_p_gps, world_R_root, len(stamps)))

    def update(self, stamp: int, world_p_gps: Array, world_R_root: Array) -> RootPose:
        """Take one sample; return the instants that it completes.

        Args:
            stamp: [ns].
            world_p_gps: (3,) position of the GPS in the world [m].
            world_R_root: (3, 3) orientation of the root in the world.
        """
        position = np.reshape(world_p_gps, (1, -1))
        return self.extend(np.array([stamp]), position, np.asarray(world_R_root)[None])

    def extend(self, stamps: Stamps, world_p_gps: Array, world_R_root: Array) -> RootPose:
        """Take the next samples of a stream; return the instants that they complete.

        Args:
            stamps: (T,) common to position and orientation, in the order of arrival [ns].
            world_p_gps: (T, 3) position of the GPS in the world [m].
            world_R_root: (T, 3, 3) orientation of the root in the world.
        """
        return self._extend(stamps, _samples(world_p_gps, world_R_root, len(stamps)))

    def _evaluate(self, stamps: Stamps, samples: Array) -> tuple[RootPose, Mask]:
        R, x = samples[:, 3:].reshape(-1, 3, 3), self.p_gps_in_root
        arm = R[:, :, 0] * x[0] + R[:, :, 1] * x[1] + R[:, :, 2] * x[2]
        position = samples[:, :3] - arm
        velocity, exists = self._quotient(stamps, position)
        together = np.concatenate([samples, velocity], axis=1)
        valid = np.asarray(np.isfinite(together).all(axis=1))
        return RootPose(stamps, position, R, velocity, valid), exists


def _samples(world_p_gps: Array, world_R_root: Array, rows: int) -> Array:
    if np.shape(world_p_gps) != (rows, 3):
        raise ShapeError('world_p_gps', f'({rows}, 3)', np.shape(world_p_gps))
    if np.shape(world_R_root) != (rows, 3, 3):
        raise ShapeError('world_R_root', f'({rows}, 3, 3)', np.shape(world_R_root))
    return finite_or_nan(np.hstack([world_p_gps, np.reshape(world_R_root, (rows, 9))]))
