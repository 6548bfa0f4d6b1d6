"""The joints of a robot over time: what a picture of the robot is drawn from."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.model.urdf import Urdf


@dataclass(frozen=True)
class Motion:
    """Joint positions over time.

    Attributes:
        model: the robot.
        urdf: its URDF, whose visuals are its looks; None: shapes follow from the inertias.
        stamps: (F,) instants [ns].
        positions: (F, n) joint positions [rad] or [m]; NaN where they are not known.
    """

    model: RobotModel
    urdf: Urdf | None
    stamps: Stamps
    positions: Array

    def body_poses(self, rows: npt.NDArray[np.integer]) -> tuple[Array, Array]:
        """Compute the poses of all bodies in the root frame.

        Args:
            rows: (S,) which instants.

        Returns:
            root_R_body (S, B, 3, 3) and the bodies' origins (S, B, 3) [m]; NaN where the joints
            are not known.
        """
        bodies = len(self.model.bodies)
        R, p = np.full((len(rows), bodies, 3, 3), np.nan), np.full((len(rows), bodies, 3), np.nan)
        for k, row in enumerate(rows):
            if np.isfinite(self.positions[row]).all():
                R[k], p[k] = self.model.body_poses(self.positions[row])
        return R, p
