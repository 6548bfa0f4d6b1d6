"""Closed-form inverse kinematics of a leg with six joints.

Hip yaw, roll and pitch meet in one point, then knee pitch, then ankle pitch and roll meet in one
point. At zero joint positions the axes are z, x, y, y, y, x of the root, and hip, knee and ankle
lie on one vertical line. Seen from the foot, the hip lies on a sphere around the ankle: its
distance gives the knee, its direction the two ankle joints; what rotation remains is the hip's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import norm

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.model.body_layout import DRIVER, KIND, REVOLUTE
from izmp_dynamics.model.robot_model import RobotModel

_AXES = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]], dtype=float)
_JOINTS = ('hip yaw', 'hip roll', 'hip pitch', 'knee', 'ankle pitch', 'ankle roll')
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Leg:
    """The geometry of one leg.

    Attributes:
        sole: name of the sole's frame.
        columns: the six joints' columns in q, from hip yaw to ankle roll.
        p_hip_in_root: (3,) where the hip axes meet [m].
        thigh: distance from hip to knee [m].
        shank: distance from knee to ankle [m].
        foot_R_sole: (3, 3); the foot's axes are the root's at zero joint positions.
        p_sole_in_foot: (3,) from the point where the ankle axes meet [m].
    """

    sole: str
    columns: tuple[int, ...]
    p_hip_in_root: Array
    thigh: float
    shank: float
    foot_R_sole: Array
    p_sole_in_foot: Array

    @classmethod
    def of(cls, model: RobotModel, sole: str) -> 'Leg':
        """Read the geometry of the leg that ends in the frame `sole`.

        Raises:
            MotionError: if the joints between root and sole are not such a leg.
            UnknownNameError: if there is no such frame.
        """
        chain = _chain(model, sole)
        root_R_body, p_body = model.body_poses(np.zeros(model.dof))
        axes, origins = root_R_body[chain, :, 2], p_body[chain]
        _check_leg(sole, axes, origins)
        hip = origins[0, 0], origins[0, 1], origins[2, 2]
        root_R_sole, p_sole = model.frame_pose(sole, np.zeros(model.dof))
        return cls(
            sole=sole,
            columns=tuple(int(column) for column in model.joints[chain, DRIVER]),
            p_hip_in_root=frozen(hip),
            thigh=float(hip[2] - origins[3, 2]),
            shank=float(origins[3, 2] - origins[4, 2]),
            foot_R_sole=frozen(root_R_sole),
            p_sole_in_foot=frozen(p_sole - [hip[0], hip[1], origins[4, 2]]),
        )

    def solve(self, root_R_sole: Array, p_sole_in_root: Array) -> Array:
        """Find the joint positions that bring the sole to a pose.

        Args:
            root_R_sole: (3, 3) or (T, 3, 3).
            p_sole_in_root: (3,) or (T, 3) [m].

        Returns:
            (6,) or (T, 6) hip yaw, roll, pitch, knee (≥ 0), ankle pitch, roll [rad].

        Raises:
            MotionError: if a pose is out of reach.
        """
        angles = np.empty((*np.shape(p_sole_in_root)[:-1], 6))
        poses = zip(
            np.ascontiguousarray(root_R_sole).reshape(-1, 3, 3),
            np.ascontiguousarray(p_sole_in_root).reshape(-1, 3),
            angles.reshape(-1, 6), strict=True,
        )  # fmt: skip
        leg = packed_leg(self)
        self._check_reach(np.array([solve_leg(leg, R, p, row) for R, p, row in poses]))
        return angles

    def _check_reach(self, reach: Array) -> None:
        distance = np.abs(reach)
        longest, shortest = self.thigh + self.shank, abs(self.thigh - self.shank)
        upwards = '{:.4f} m with the sole facing upwards; it must face the ground'
        for kind, found, reason in (
            ('leg_too_short', distance > longest * (1 + 1e-12),
             f'{{:.4f}} m; the stretched leg reaches {longest:.4f} m'),
            ('leg_too_long', distance <= shortest,
             f'{{:.4f}} m; the folded leg reaches {shortest:.4f} m'),
            ('sole_upwards', reach <= 0.0, upwards),
            ('not_finite', ~np.isfinite(distance), '{:.4f} m, which is not a finite number'),
        ):  # fmt: skip
            if found.any():
                row = int(np.argmax(found))
                place = f' (sample {row})' if len(distance) > 1 else ''
                raise MotionError(
                    f"The pose of '{self.sole}'{place} is out of reach: from hip to ankle it "
                    f'takes {reason.format(distance[row])}.',
                    kind=kind,
                    sole=self.sole,
                    row=row,
                    distance=float(distance[row]),
                )


def _chain(model: RobotModel, sole: str) -> list[int]:
    chain = model.chain(sole)
    if len(chain) != len(_JOINTS) or (model.joints[chain, KIND] != REVOLUTE).any():
        raise MotionError(
            f"The leg of '{sole}' has {len(chain)} joints between '{model.root}' and the sole; "
            f'needed are six revolute ones: {", ".join(_JOINTS)}.',
            kind='joint_count',
            sole=sole,
            joints=len(chain),
        )
    return chain


def _check_leg(sole: str, axes: Array, origins: Array) -> None:
    """Refuse a leg whose axes do not meet or point elsewhere."""
    for joint, axis, expected in zip(_JOINTS, axes, _AXES, strict=True):
        if norm(axis - expected) > _TOLERANCE:
            raise MotionError(
                f"The leg of '{sole}' does not fit the closed form: the axis of the {joint} is "
                f'{np.round(axis, 6).tolist()} in root axes, needed is {expected.tolist()}.',
                kind='joint_axis',
                sole=sole,
                joint=joint,
                axis=axis,
            )
    yaw, roll, pitch, knee, ankle, foot = origins
    for offsets, what in (
        ([yaw[1] - roll[1]], 'the axes of hip yaw and hip roll do not meet'),
        ([yaw[0] - pitch[0]], 'the axes of hip yaw and hip pitch do not meet'),
        ([roll[2] - pitch[2]], 'the axes of hip roll and hip pitch do not meet'),
        ([ankle[2] - foot[2]], 'the axes of ankle pitch and ankle roll do not meet'),
        ([knee[0] - pitch[0], ankle[0] - pitch[0], foot[1] - yaw[1]],
         'hip, knee and ankle are not on one vertical line'),
    ):  # fmt: skip
        if norm(offsets) > _TOLERANCE:
            raise MotionError(
                f"The leg of '{sole}' does not fit the closed form: {what} "
                f'({1e3 * norm(offsets):.3f} mm off at zero joint positions).',
                kind='leg_geometry',
                sole=sole,
                violated=what,
                distance=norm(offsets),
            )


def packed_leg(leg: Leg) -> Array:
    """Return the geometry of a leg as the kernel takes it, (17,).

    That is hip in root (3), thigh, shank, foot_R_sole (9) and sole in foot (3).
    """
    return frozen(
        [*leg.p_hip_in_root, leg.thigh, leg.shank, *leg.foot_R_sole.ravel(), *leg.p_sole_in_foot]
    )


@kernel
def solve_leg(leg: Array, root_R_sole: Array, p_sole_in_root: Array, angles: Array) -> float:
    """Find the joint positions that bring a sole to a pose.

    Out of reach the leg is stretched towards the ankle; check the returned distance.

    Args:
        leg: (17,) packed geometry.
        root_R_sole: (3, 3).
        p_sole_in_root: (3,) [m].
        angles: (6,) out: hip yaw, roll, pitch, knee, ankle pitch, roll [rad].

    Returns:
        Distance from hip to ankle [m]; negative if the sole faces upwards.
    """
    R = np.empty((3, 3))  # root_R_foot
    for i in range(3):
        for j in range(3):
            R[i, j] = 0.0
            for k in range(3):
                R[i, j] += root_R_sole[i, k] * leg[5 + 3 * j + k]
    x, y, z = 0.0, 0.0, 0.0  # the hip as seen from the ankle, in foot axes
    for i in range(3):
        from_sole = leg[i] - p_sole_in_root[i]
        x += R[i, 0] * from_sole
        y += R[i, 1] * from_sole
        z += R[i, 2] * from_sole
    x, y, z = x + leg[14], y + leg[15], z + leg[16]
    a, b = leg[3], leg[4]
    distance = float(np.sqrt(x * x + y * y + z * z))
    cosine = min(1.0, max(-1.0, (distance * distance - a * a - b * b) / (2.0 * a * b)))
    sine = np.sqrt(1.0 - cosine * cosine)
    knee = np.arctan2(sine, cosine)
    pitch = np.arctan2(-a * sine, b + a * cosine) - np.arctan2(x, np.hypot(y, z))
    roll = np.arctan2(y, z)
    # What remains for the hip: root_R_foot · Rx(−roll) · Ry(−knee − pitch), as far as needed.
    cr, sr = np.cos(roll), np.sin(roll)
    cp, sp = np.cos(knee + pitch), np.sin(knee + pitch)
    h01 = R[0, 1] * cr - R[0, 2] * sr
    h11 = R[1, 1] * cr - R[1, 2] * sr
    h21 = R[2, 1] * cr - R[2, 2] * sr
    h20 = R[2, 0] * cp + (R[2, 1] * sr + R[2, 2] * cr) * sp
    h22 = -R[2, 0] * sp + (R[2, 1] * sr + R[2, 2] * cr) * cp
    angles[0] = np.arctan2(-h01, h11)
    angles[1] = np.arctan2(h21, np.hypot(h01, h11))
    angles[2] = np.arctan2(-h20, h22)
    angles[3], angles[4], angles[5] = knee, pitch, roll
    return distance if z > 0.0 else -distance
