"""The ITU Biped of Şanlıtürk & Kocabaş (2024): tables, forward and inverse kinematics.

Equation and table numbers are theirs. Each leg is a chain of Denavit–Hartenberg frames from the
hip (frame 0: x left, y back, z up) to the sole (frame 6: x down, y left, z ahead): yaw, roll,
pitch, knee, ankle pitch, ankle roll. A stretched leg stands straight at θ = (0, −π/2, 0, 0, 0, 0).

Corrections, all checked by closing the loop:
* eq. 9: without its minus signs, which turn θ1 by π;
* eq. 18: the CoG offsets of table 2 are measured from the joint that moves the part, in the axes
  of the part's frame. Measured from the origin of that frame, which for the leg's long parts lies
  at their far end, the CoG would be lower than the 0.45 m at which they let the robot walk.

What the paper leaves open is decided here: a part's number is its place in table 2; the torso's
axes are those of frame 0 and its origin is O_B; the left leg is the mirror image of the right one.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen

HIP_ASIDE = 0.13
"""y0: distance of a hip from the middle plane [m] (table 1)."""

HIP_BELOW = 0.07
"""−z0: how far the hips are below the pelvis' origin O_B [m] (table 1)."""

THIGH, SHANK, ANKLE_HEIGHT = 0.422, 0.4, 0.075
"""l1, l2, l3 [m] (table 1)."""

LEFT_SIDE, RIGHT_SIDE = 1, -1

STRETCHED = frozen([0.0, -0.5 * np.pi, 0.0, 0.0, 0.0, 0.0])
"""θ of a stretched leg that stands straight [rad]; a joint position of the URDF is θ − this."""


@dataclass(frozen=True)
class Part:
    """A row of table 2.

    Attributes:
        name: of the part.
        mass: [kg].
        cog: (3,) its CoG in the axes of its frame, from the joint that moves it [m].
    """

    name: str
    mass: float
    cog: tuple[float, float, float]


TORSO = Part('torso', 2.387902, (0.000006, 0.020549, 0.157635))

RIGHT_LEG = (
    Part('hip_roll_body', 2.139072, (0.000003, 0.035534, 0.0661)),
    Part('hip_yaw_body', 0.71518, (-0.009912, 0.002801, -0.0228)),
    Part('upper_leg', 3.804756, (0.186095, -0.004384, -0.003505)),
    Part('lower_leg', 2.805996, (0.180778, -0.007, 0.000426)),
    Part('ankle_roll_body', 0.022225, (-0.000011, -0.001187, 0.001606)),
    Part('foot', 1.584761, (0.058582, 0.000012, 0.018663)),
)
"""Parts 1 to 6 of the right leg."""

DENAVIT_HARTENBERG = frozen(
    [
        [0.0, 0.5 * np.pi],
        [0.0, -0.5 * np.pi],
        [THIGH, 0.0],
        [SHANK, 0.0],
        [0.0, 0.5 * np.pi],
        [ANKLE_HEIGHT, 0.0],
    ]
)
"""a [m] and α [rad] of the six joints (table 3); d is zero throughout."""

FRAME_0 = frozen([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""pelvis_R_0: the axes of frame 0 (eq. 2)."""

_MIRRORED_AXIS = (0, 2, 2, 2, 1, 1)
"""Which axis of frames 1 to 6 points to the left or right when the leg stands straight."""


def leg_parts(side: int) -> tuple[Part, ...]:
    """Return the parts 1 to 6 of the leg on LEFT_SIDE or RIGHT_SIDE."""
    if side == RIGHT_SIDE:
        return RIGHT_LEG
    mirrored = []
    for part, axis in zip(RIGHT_LEG, _MIRRORED_AXIS, strict=True):
        cog = list(part.cog)
        cog[axis] = -cog[axis]
        mirrored.append(Part(part.name, part.mass, (cog[0], cog[1], cog[2])))
    return tuple(mirrored)


def hip(side: int) -> Array:
    """Return pelvis_T_0 (4, 4), the frame at a hip (eq. 2 with x0 = 0)."""
    T = np.eye(4)
    T[:3, :3] = FRAME_0
    T[:3, 3] = 0.0, side * HIP_ASIDE, -HIP_BELOW
    return T


def link_frames(theta: Array) -> Array:
    """Compute the frames of a leg.

    Args:
        theta: (…, 6) joint angles [rad].

    Returns:
        (…, 7, 4, 4) poses of the frames 0 to 6 in frame 0 (eqs. 3 and 17).
    """
    frames = np.zeros((*theta.shape[:-1], 7, 4, 4))
    frames[..., 0, :, :] = np.eye(4)
    for joint in range(6):
        frames[..., joint + 1, :, :] = frames[..., joint, :, :] @ _link_transform(
            theta[..., joint], *DENAVIT_HARTENBERG[joint]
        )
    return frames


def _link_transform(theta: Array, a: float, alpha: float) -> Array:
    """Transform from frame n − 1 to frame n (…, 4, 4), eq. 3."""
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    T = np.zeros((*np.shape(theta), 4, 4))
    T[..., 0, 0], T[..., 0, 1], T[..., 0, 2], T[..., 0, 3] = c, -s * ca, s * sa, a * c
    T[..., 1, 0], T[..., 1, 1], T[..., 1, 2], T[..., 1, 3] = s, c * ca, -c * sa, a * s
    T[..., 2, 1], T[..., 2, 2], T[..., 3, 3] = sa, ca, 1.0
    return T


def leg_angles(T_60: Array) -> Array:
    """Find the joint angles of a leg (eqs. 5–10, corrected).

    Args:
        T_60: (…, 4, 4) the hip's frame 0 as seen from the sole's frame 6, with the columns
            n, o, a, p; within reach of the leg.

    Returns:
        (…, 6) θ with the knee bent forwards [rad].
    """
    n, o, a, p = (T_60[..., :3, column] for column in range(4))
    px, py, pz = p[..., 0] + ANKLE_HEIGHT, p[..., 1], p[..., 2]
    c4 = (px**2 + py**2 + pz**2 - THIGH**2 - SHANK**2) / (2.0 * THIGH * SHANK)
    s4 = np.sqrt(1.0 - c4**2)
    theta4 = np.arctan2(s4, c4)
    theta5 = np.arctan2(-pz, np.hypot(px, py)) - np.arctan2(THIGH * s4, THIGH * c4 + SHANK)
    theta6 = np.arctan2(py, -px)
    s6, c6 = np.sin(theta6), np.cos(theta6)
    k = a[..., 0] * s6 + a[..., 1] * c6
    theta2 = np.arctan2(-np.sqrt(1.0 - k**2), k)
    theta1 = np.arctan2(o[..., 0] * s6 + o[..., 1] * c6, n[..., 0] * s6 + n[..., 1] * c6)
    pitch = np.arctan2(a[..., 2], a[..., 0] * c6 - a[..., 1] * s6) - np.pi - theta4 - theta5
    theta3 = np.arctan2(np.sin(pitch), np.cos(pitch))
    return np.stack([theta1, theta2, theta3, theta4, theta5, theta6], axis=-1)
