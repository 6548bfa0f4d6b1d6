"""Forward kinematics: the step over one joint, and the kernels that repeat it.

Every kernel that moves bodies takes `place` or its parts for this step. The arrays are those
of `body_layout`.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.kernel import inlined, kernel
from izmp_dynamics.base.vectors import Vector, add, dot, rotate, scale, sin_cos, store, vector
from izmp_dynamics.model.body_layout import (
    DRIVER,
    FIRST_MOMENT,
    KIND,
    MASS,
    MULTIPLIER,
    OFFSET,
    PARENT,
    POSE,
    POSITION,
    REVOLUTE,
    ROTATION,
)


@inlined
def _column(pose: Array, k: int) -> Vector:
    """A column of a pose's rotation."""
    return (pose[ROTATION + k], pose[ROTATION + 3 + k], pose[ROTATION + 6 + k])


@inlined
def z_axis(pose: Array) -> Vector:
    """The third of them; of a body, the axis of its joint."""
    return _column(pose, 2)


@inlined
def turn(joint: Indices, q: float) -> Vector:
    """Cosine and sine of a joint's angle and its travel [m] at position q [rad] or [m]."""
    if joint[KIND] == REVOLUTE:
        s, c = sin_cos(q)
        return (c, s, 0.0)
    return (1.0, 0.0, q)


@inlined
def carry(body: Array, turned: Vector, parent: Array, own: Array) -> Vector:
    """Write the pose of a body, from that of its parent and the `turn` of its joint.

    Args:
        body: row of `bodies`.
        turned: cosine, sine and travel [m].
        parent: pose of the parent.
        own: out: pose of the body.

    Returns:
        From the parent's origin to its own, in the axes of the result [m].
    """
    c, s, travel = turned
    for k in range(ROTATION, POSITION, 3):
        row = vector(parent, k)
        x, y = dot(row, _column(body, 0)), dot(row, _column(body, 1))
        own[k] = c * x + s * y
        own[k + 1] = c * y - s * x
        own[k + 2] = dot(row, _column(body, 2))
    r: Vector = add(rotate(parent, vector(body, POSITION)), scale(travel, z_axis(own)))
    store(own, POSITION, add(vector(parent, POSITION), r))
    return r


@inlined
def place(joint: Indices, body: Array, q: float, parent: Array, own: Array) -> Vector:
    """Write the pose of a body, as `carry`, from the position of its joint [rad] or [m]."""
    return carry(body, turn(joint, q), parent, own)


@inlined
def set_identity(pose: Array) -> None:
    """Make a pose the identity."""
    for k in range(POSE):
        pose[k] = 0.0
    pose[ROTATION] = pose[ROTATION + 4] = pose[ROTATION + 8] = 1.0


@inlined
def joint_position(joint: Indices, body: Array, q: Array) -> float:
    """Position of a body's joint [rad] or [m], from those of the independent joints (n,)."""
    position: float = body[MULTIPLIER] * q[joint[DRIVER]] + body[OFFSET]
    return position


@inlined
def compose(first: Array, second: Array, out: Array) -> None:
    """Write the pose of C in A, from that of B in A and that of C in B."""
    for k in range(ROTATION, POSITION, 3):
        row = vector(first, k)
        for column in range(3):
            out[k + column] = dot(row, _column(second, column))
    shift = rotate(first, vector(second, POSITION))
    store(out, POSITION, add(vector(first, POSITION), shift))


@kernel
def body_poses(joints: Indices, bodies: Array, q: Array, poses: Array) -> None:
    """Compute the pose of every body frame in the root frame.

    Args:
        joints: (B, 3), see `body_layout`.
        bodies: (B, 24), see `body_layout`.
        q: (n,) joint positions [rad] or [m].
        poses: (B, 12) out: root_R_body and the body's origin in the root frame [m].
    """
    set_identity(poses[0])
    for i in range(1, joints.shape[0]):
        position = joint_position(joints[i], bodies[i], q)
        place(joints[i], bodies[i], position, poses[joints[i, PARENT]], poses[i])


@kernel
def frame_poses(joints: Indices, bodies: Array, q: Array, body: int, mount: Array) -> Array:
    """Compute the pose of one frame in the root frame over a batch.

    Args:
        joints: as in `body_poses`.
        bodies: as in `body_poses`.
        q: (T, n) joint positions.
        body: the body that carries the frame.
        mount: (12,) pose of the frame in the body frame.

    Returns:
        (T, 12) poses.
    """
    poses = np.empty((joints.shape[0], POSE))
    out = np.empty((q.shape[0], POSE))
    chain, length = np.empty(joints.shape[0], np.int64), 0
    carrier = body
    while carrier > 0:  # other bodies don't move it
        chain[length] = carrier
        length += 1
        carrier = joints[carrier, PARENT]
    set_identity(poses[0])
    for t in range(q.shape[0]):
        for k in range(length - 1, -1, -1):
            i = chain[k]
            position = joint_position(joints[i], bodies[i], q[t])
            place(joints[i], bodies[i], position, poses[joints[i, PARENT]], poses[i])
        compose(poses[body], mount, out[t])
    return out


@kernel
def link_poses(
    joints: Indices, bodies: Array, q: Array, moved: Indices, parents: Array, mounts: Array
) -> Array:
    """Compute the poses of links in the frames of their parent links over a batch.

    Args:
        joints: as in `body_poses`.
        bodies: as in `body_poses`.
        q: (T, n) joint positions.
        moved: (L,) the body of each link; its joint lies between the link and its parent link.
        parents: (L, 12) pose of the parent body in the frame of the parent link.
        mounts: (L, 12) pose of the link in its body's frame.

    Returns:
        (T, L, 12) poses.
    """
    own = np.empty(POSE)
    out = np.empty((q.shape[0], moved.shape[0], POSE))
    for t in range(q.shape[0]):
        for k in range(moved.shape[0]):
            joint, body = joints[moved[k]], bodies[moved[k]]
            place(joint, body, joint_position(joint, body, q[t]), parents[k], own)
            compose(own, mounts[k], out[t, k])
    return out


@kernel
def center_of_mass(bodies: Array, poses: Array, com: Array) -> None:
    """Compute the centre of mass in the root frame.

    Args:
        bodies: as in `body_poses`.
        poses: (B, 12) the poses of the bodies.
        com: (3,) out [m].
    """
    total, moment = 0.0, (0.0, 0.0, 0.0)
    for i in range(bodies.shape[0]):
        total += bodies[i, MASS]
        at_origin = scale(bodies[i, MASS], vector(poses[i], POSITION))
        turned = rotate(poses[i], vector(bodies[i], FIRST_MOMENT))
        moment = add(moment, add(at_origin, turned))
    store(com, 0, scale(1.0 / total, moment))


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
    poses = np.empty((joints.shape[0], POSE))
    com = np.empty((q.shape[0], 3))
    for t in range(q.shape[0]):
        body_poses(joints, bodies, q[t], poses)
        center_of_mass(bodies, poses, com[t])
    return com
