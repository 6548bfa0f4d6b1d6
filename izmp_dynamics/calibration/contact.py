"""Which foot rests on the ground and which is in the air, and the root's motion that follows.

Height decides first: while a robot sways, a foot may be without load on the ground.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.ndimage
from scipy.spatial.transform import Rotation

from izmp_dynamics.calibration.smooth import SmoothSignal
from izmp_dynamics.conventions import Array, cross
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.rig import FootRig

CLEARANCE = 0.005
"""A foot is in the air if its lowest corner is higher above the other sole's plane [m]."""

MARGIN = 0.04
"""Time about lift-off and touch-down that counts as neither [s]."""

UNLOADED = 0.1
"""A foot in the air reads what it reads in the air, within this part of the weight [-]."""

LOADED = 0.5
"""A foot that stands alone carries at least this part of the weight [-]."""

STILL = (0.05, 0.01)
"""Two soles that rest do not turn [rad/s] or move [m/s] faster against each other."""

_STEP = 1e-3

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SoleMotion:
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

    def root_at_rest(self, gravity: float) -> tuple[Array, Array]:
        """Motion of the root while this sole rests on level ground: (K, 3) φ and ω.

        The sole does not move, so ω = −w, and the specific force at it is g along its normal.
        """
        omega, alpha = -self.w, -self.wd
        relative = (
            cross(alpha, self.p)
            + cross(omega, cross(omega, self.p))
            + 2.0 * cross(omega, self.v)
            + self.a
        )
        return gravity * self.R[:, :, 2] - relative, omega


def sole_motion(
    model: RobotModel, foot: FootRig, joints: SmoothSignal, times: Array
) -> SoleMotion:
    """Move a sole by the joints, at instants (K,) [s]."""

    def pose(shift: float) -> tuple[Array, Array]:
        R, p = model.frame_pose(foot.sole, joints.at(times + shift))
        return R, p

    (R0, p0), (R, p), (R1, p1) = (pose(shift) for shift in (-_STEP, 0.0, _STEP))
    forward = Rotation.from_matrix(R1 @ np.swapaxes(R, 1, 2)).as_rotvec() / _STEP
    backward = Rotation.from_matrix(R @ np.swapaxes(R0, 1, 2)).as_rotvec() / _STEP
    corners = np.column_stack([foot.polygon, np.zeros(len(foot.polygon))])
    return SoleMotion(
        R=R,
        p=p,
        v=(p1 - p0) / (2.0 * _STEP),
        a=(p1 - 2.0 * p + p0) / _STEP**2,
        w=0.5 * (forward + backward),
        wd=(forward - backward) / _STEP,
        corners=p[:, None] + np.einsum('tij,vj->tvi', R, corners),
    )


def above(foot: SoleMotion, ground: SoleMotion) -> Array:
    """(K,) height of the lowest corner of a sole above the plane of another [m]."""
    relative = foot.corners - ground.p[:, None]
    heights: Array = np.einsum('tvi,ti->tv', relative, ground.R[:, :, 2]).min(axis=1)
    return heights


def contacts(
    soles: tuple[SoleMotion, ...], loads: tuple[Array | None, ...], weight: float, rate: float
) -> tuple[Flags, Flags]:
    """Decide on the feet.

    Args:
        soles: of F feet.
        loads: (K,) normal force of each [N]; None without a sensor.
        weight: of the robot [N].
        rate: of the instants [Hz].

    Returns:
        (K, F) at rest on the ground, (K, F) in the air.
    """
    count, feet = len(soles[0].p), len(soles)
    rest, air = np.zeros((2, count, feet), dtype=np.bool_)
    if feet == 1:
        load = loads[0]
        rest[:, 0] = True if load is None else load > LOADED * weight
        return rest, air
    heights = np.full((count, feet), np.inf)
    for k in range(feet):
        for other in range(feet):
            if other != k:
                heights[:, k] = np.minimum(heights[:, k], above(soles[k], soles[other]))
    for k in range(feet):
        air[:, k] = heights[:, k] > CLEARANCE
        load = loads[k]
        if load is not None and air[:, k].any():
            in_air = float(np.median(load[air[:, k]]))
            air[:, k] &= np.abs(load - in_air) < UNLOADED * weight
        air[:, k] = _eroded(air[:, k], rate)
    for k in range(feet):
        others = [other for other in range(feet) if other != k]
        alone = air[:, others].all(axis=1)
        together = np.ones(count, dtype=np.bool_)
        for other in others:
            together &= _still(soles[k], soles[other]) & (np.abs(heights[:, other]) < CLEARANCE)
        load = loads[k]
        if load is not None:
            alone &= load > LOADED * weight
        rest[:, k] = _eroded(alone & ~air[:, k], rate) | _eroded(together, rate)
    return rest, air


def _still(one: SoleMotion, other: SoleMotion) -> Flags:
    turning = np.linalg.norm(one.w - other.w, axis=1)
    # what the second sole does in the first one's frame
    moving = np.linalg.norm(other.v - one.v - cross(one.w, other.p - one.p), axis=1)
    still: Flags = (turning < STILL[0]) & (moving < STILL[1])
    return still


def _eroded(flags: Flags, rate: float) -> Flags:
    width = 2 * max(1, round(MARGIN * rate)) + 1
    eroded: Flags = scipy.ndimage.binary_erosion(flags, np.ones(width), border_value=1)
    return eroded
