"""Compiled twin of `leg_ik.Leg.solve` for one pose, for use inside other kernels."""

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.kernel import kernel
from izmp_lab.walking.leg_ik import Leg

LEG = 17
"""Entries of a packed leg: hip in root (3), thigh, shank, foot_R_sole (9), sole in foot (3)."""


def packed_leg(leg: Leg) -> Array:
    """Return the geometry of a leg as the kernels take it, (17,)."""
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
