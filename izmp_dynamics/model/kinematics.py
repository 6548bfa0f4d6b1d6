"""Numba kernels for the poses of bodies and frames; the arrays are those of `robot_model`.

They are written number by number: an assignment or a product of arrays would make numba compile
three times as long, and the products of such small matrices slower.
"""

import numpy as np

from izmp_dynamics.conventions import Array, Indices
from izmp_dynamics.kernel import kernel


@kernel
def body_poses(joints: Indices, bodies: Array, q: Array, R: Array, p: Array) -> None:
    """Compute the pose of every body frame in the root frame.

    Args:
        joints: (B, 3) parent body, kind (0 revolute, 1 prismatic), index into q; int64.
        bodies: (B, 24) packed constants, see `RobotModel`.
        q: (n,) joint positions [rad] or [m].
        R: (B, 3, 3) out: root_R_body.
        p: (B, 3) out: body origins in the root frame [m].
    """
    for row in range(3):
        p[0, row] = 0.0
        for k in range(3):
            R[0, row, k] = 1.0 if row == k else 0.0
    for i in range(1, joints.shape[0]):
        parent = joints[i, 0]
        angle, travel = 0.0, 0.0
        position = bodies[i, 22] * q[joints[i, 2]] + bodies[i, 23]
        if joints[i, 1] == 0:
            angle = position
        else:
            travel = position
        c, s = np.cos(angle), np.sin(angle)
        for row in range(3):
            x, y, z, moved = 0.0, 0.0, 0.0, p[parent, row]
            for k in range(3):
                a = R[parent, row, k]
                x += a * bodies[i, 3 * k]
                y += a * bodies[i, 3 * k + 1]
                z += a * bodies[i, 3 * k + 2]
                moved += a * bodies[i, 9 + k]
            R[i, row, 0] = c * x + s * y
            R[i, row, 1] = c * y - s * x
            R[i, row, 2] = z
            p[i, row] = moved + z * travel


@kernel
def frame_poses(
    joints: Indices, bodies: Array, q: Array, body: int, frame_R: Array, frame_p: Array
) -> tuple[Array, Array]:
    """Compute the pose of one frame over a batch.

    Args:
        joints: as in `body_poses`.
        bodies: as in `body_poses`.
        q: (T, n) joint positions.
        body: the body that carries the frame.
        frame_R: (3, 3) body_R_frame.
        frame_p: (3,) frame origin in the body frame [m].

    Returns:
        (T, 3, 3) root_R_frame and (T, 3) frame origin in the root frame [m].
    """
    count = joints.shape[0]
    R = np.empty((count, 3, 3))
    p = np.empty((count, 3))
    out_R = np.empty((q.shape[0], 3, 3))
    out_p = np.empty((q.shape[0], 3))
    for t in range(q.shape[0]):
        body_poses(joints, bodies, q[t], R, p)
        for row in range(3):
            a, b, c = R[body, row, 0], R[body, row, 1], R[body, row, 2]
            out_p[t, row] = p[body, row] + a * frame_p[0] + b * frame_p[1] + c * frame_p[2]
            for k in range(3):
                out_R[t, row, k] = a * frame_R[0, k] + b * frame_R[1, k] + c * frame_R[2, k]
    return out_R, out_p


@kernel
def centers_of_mass(joints: Indices, bodies: Array, q: Array) -> Array:
    """Compute the centre of mass in the root frame over a batch.

    Args:
        joints: as in `body_poses`.
        bodies: as in `body_poses`.
        q: (T, n) joint positions.

    Returns:
        (T, 3) [m].
    """
    count = joints.shape[0]
    R = np.empty((count, 3, 3))
    p = np.empty((count, 3))
    com = np.zeros((q.shape[0], 3))
    total = bodies[:, 12].sum()
    for t in range(q.shape[0]):
        body_poses(joints, bodies, q[t], R, p)
        for i in range(count):
            for row in range(3):
                moment = bodies[i, 12] * p[i, row]
                for k in range(3):
                    moment += R[i, row, k] * bodies[i, 13 + k]
                com[t, row] += moment / total
    return com
