"""How a sole moves against the root, by the joints; how the root moves while that sole rests."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, cross
from izmp_dynamics.base.rotations import from_matrices
from izmp_dynamics.model.robot_model import RobotModel

STEP = 1e-3
"""Of the difference quotients [s]: their errors are below 1e-6 m/s²."""


@dataclass(frozen=True)
class SoleMotion(Record):
    """A sole against the root at K instants, in root axes.

    Attributes:
        R: (K, 3, 3) root_R_sole.
        p: (K, 3) its origin [m].
        v: (K, 3) derivative of p [m/s].
        a: (K, 3) second derivative of p [m/s²].
        w: (K, 3) angular velocity against the root [rad/s].
        wd: (K, 3) its derivative [rad/s²].
        corners: (K, V, 3) of the sole [m].
    """

    R: Array
    p: Array
    v: Array
    a: Array
    w: Array
    wd: Array
    corners: Array

    def root_at_rest(
        self, gravity: float, tilt: tuple[float, float] = (0.0, 0.0)
    ) -> tuple[Array, Array]:
        """Motion of the root while this sole rests: (K, 3) φ and ω.

        The sole does not move, so ω = −w, and the specific force at it is g along the vertical.

        Args:
            gravity: [m/s²].
            tilt: of the vertical against the normal of the sole, about its x and y [rad].
        """
        omega, alpha = -self.w, -self.wd
        relative = (
            cross(alpha, self.p)
            + cross(omega, cross(omega, self.p))
            + 2.0 * cross(omega, self.v)
            + self.a
        )
        vertical = self.R @ np.array([tilt[1], -tilt[0], 1.0])
        return gravity * vertical - relative, omega

    def carried(self, phi: Array, omega: Array, alpha: Array, s: Array) -> Array:
        """Motion of a point of the link by that of the root: (K, 6) ω and φ in axes of the link.

        Args:
            phi: (K, 3) of the root in root axes, as the next ones [m/s²].
            omega: (K, 3) angular velocity [rad/s].
            alpha: (K, 3) angular acceleration [rad/s²].
            s: (3,) the point in the frame of the link [m].
        """
        arm = self.R @ s
        p, v = self.p + arm, self.v + cross(self.w, arm)
        phi = phi + cross(alpha, p) + cross(omega, cross(omega, p) + 2.0 * v)
        phi = phi + self.a + cross(self.wd, arm) + cross(self.w, cross(self.w, arm))
        moved: Array = np.stack([omega + self.w, phi], axis=1) @ self.R
        return moved.reshape(-1, 6)


def sole_motion(
    model: RobotModel, sole: str, polygon: Array, positions: Callable[[float], Array]
) -> SoleMotion:
    """Move a sole by the joints.

    Args:
        model: the robot.
        sole: link of the sole.
        polygon: (V, 2) its corners in its frame [m].
        positions: gives the joint positions (K, n) so much later [s].
    """
    (R0, p0), (R, p), (R1, p1) = (
        model.frame_pose(sole, positions(shift)) for shift in (-STEP, 0.0, STEP)
    )
    forward = from_matrices(R1 @ np.swapaxes(R, 1, 2)).as_rotvec() / STEP
    backward = from_matrices(R @ np.swapaxes(R0, 1, 2)).as_rotvec() / STEP
    corners = np.column_stack([polygon, np.zeros(len(polygon))])
    return SoleMotion(
        R=R,
        p=p,
        v=(p1 - p0) / (2.0 * STEP),
        a=(p1 - 2.0 * p + p0) / STEP**2,
        w=0.5 * (forward + backward),
        wd=(forward - backward) / STEP,
        corners=p[:, None] + np.einsum('tij,vj->tvi', R, corners),
    )
