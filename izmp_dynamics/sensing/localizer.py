"""Pose and linear velocity of the root in the world from a GPS and an IMU (sect. 4.5).

Only IR-MD and the views need them. The position of the root origin is that of the GPS less the
rotated arm between them; its velocity is a difference quotient of the position: the central one
by default, or the paper's backward one. That one is the mean velocity over (k-1, k); as in the
paper it is taken as the velocity at k.
"""

from dataclasses import dataclass
from typing import Any

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Stamps, frozen
from izmp_dynamics.sensing.difference_stage import DifferenceStage
from izmp_dynamics.signals.differences import Mask


@dataclass(frozen=True)
class RootPose(Record):
    """Where the root link is in the world, and how fast its origin moves, at T instants.

    NaN stands where a value is missing.

    Attributes:
        stamps: (T,) the instants [ns].
        world_p_root: (T, 3) position of the root origin [m].
        world_R_root: (T, 3, 3) orientation of the root.
        linear_velocity: (T, 3) of the root origin, in world axes [m/s].
    """

    stamps: Stamps
    world_p_root: Array
    world_R_root: Array
    linear_velocity: Array


class Localizer(DifferenceStage[RootPose]):
    """Pose and velocity of the root from a GPS and an orientation (paper, sect. 4.5).

    Samples consist of the position (T, 3) of the GPS [m] and the orientation (T, 3, 3) of the
    root, both in the world.

    Args:
        p_gps_in_root: (3,) position of the GPS in the root frame [m].
        period: nominal time between samples [s].
        options: of the difference quotient, as of `DifferenceStage`.

    Raises:
        SensingError: a parameter that makes no sense.
    """

    def __init__(self, p_gps_in_root: Array, period: float, **options: Any) -> None:
        super().__init__({'world_p_gps': (3,), 'world_R_root': (3, 3)}, period, **options)
        self.p_gps_in_root = frozen(p_gps_in_root)

    def _evaluate(self, stamps: Stamps, samples: Array) -> tuple[RootPose, Mask]:
        R, x = samples[:, 3:].reshape(-1, 3, 3), self.p_gps_in_root
        arm = R[:, :, 0] * x[0] + R[:, :, 1] * x[1] + R[:, :, 2] * x[2]
        position = samples[:, :3] - arm
        velocity, exists = self._quotient(stamps, position)
        return RootPose(stamps, position, R, velocity), exists
