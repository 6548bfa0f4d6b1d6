"""Motion of the centre of mass against the ground, from the joints and a foot that stands.

The linear velocity of the root is not measured, but where a foot touches the ground, nothing
moves unless it slips. With all velocities taken as if the root's origin were at rest, that of the
centre of mass less that of the touching point is the one against the ground.
"""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, Indices, frozen
from izmp_dynamics.base.kernel import inlined, kernel
from izmp_dynamics.base.vectors import Vector, add, cross, dot, rotate, scale, store, vector
from izmp_dynamics.dynamics.kernels import MOTION, carry_velocity, linear_momentum
from izmp_dynamics.model.body_layout import (
    DRIVER,
    FIRST_MOMENT,
    KIND,
    MASS,
    MULTIPLIER,
    PARENT,
    POSITION,
    REVOLUTE,
)
from izmp_dynamics.model.kinematics import joint_position, place, set_identity
from izmp_dynamics.model.robot_model import RobotModel

_CHANGE = MOTION + 6
"""Entry of a body's row from which on its motion by q̈ in the place of q̇ stands."""

_ROW = MOTION + 12


class ComMotion:
    """Centre of mass of a robot that stands on some of its feet, and its velocity.

    Args:
        model: the robot.
        soles: links of the F soles.
    """

    def __init__(self, model: RobotModel, soles: Sequence[str]) -> None:
        self.model = model
        self._carriers = frozen([model.mount(sole).body for sole in soles], np.int64)

    def __deepcopy__(self, memo: object) -> 'ComMotion':
        """Nothing in it changes; copies of its arrays would be writable, of another type."""
        return self

    def batch(
        self, angular_velocity: Array, q: Array, qd: Array, qdd: Array, corners: Array,
        foot: Indices, up: Array, loaded: Flags, forces: Array,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Evaluate T instants.

        Args:
            angular_velocity: (T, 3) ω of the root in root axes [rad/s].
            q: (T, n) joint positions [rad] or [m].
            qd: (T, n) joint velocities [rad/s] or [m/s].
            qdd: (T, n) joint accelerations [rad/s²] or [m/s²].
            corners: (T, C, 3) corners of all soles in the root frame [m].
            foot: (C,) the foot that each belongs to.
            up: (T, 3) unit vector against gravity in root axes.
            loaded: (T, F) which feet stand.
            forces: (T, F) on them, which are their weights; NaN where one is not known: then all
                that stand weigh the same [N].

        Returns:
            The centre of mass (T, 3) in the root frame [m], its velocity (T, 3) against the
            ground in root axes [m/s], and the part of its acceleration (T, 3) that is linear in
            q̈ [m/s²]; both NaN where no foot stands.
        """
        com, velocity, change = (np.empty((len(q), 3)) for _ in range(3))
        _evaluate(
            self.model.joints, self.model.bodies, self._carriers,
            angular_velocity, q, qd, qdd, corners, foot, up, loaded, forces,
            com, velocity, change,
        )  # fmt: skip
        return com, velocity, change


@kernel
def _evaluate(
    joints: Indices,
    bodies: Array,
    carriers: Indices,
    omega: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    corners: Array,
    foot: Indices,
    up: Array,
    loaded: Flags,
    forces: Array,
    com: Array,
    velocity: Array,
    change: Array,
) -> None:
    """Write what `ComMotion.batch` returns."""
    mass = 0.0
    for body in bodies:
        mass += body[MASS]
    work, weights = np.empty((len(joints), _ROW)), np.empty(len(carriers))
    lowest = np.empty(len(carriers), np.int64)
    for t in range(len(q)):
        total = _weigh(loaded[t], forces[t], weights)
        _find_lowest(corners[t], foot, up[t], lowest)
        moment, moving, changing = _move(joints, bodies, omega[t], q[t], qd[t], qdd[t], work)
        for k in range(3):
            com[t, k] = moment[k] / mass
            velocity[t, k] = moving[k] / mass if total > 0.0 else np.nan
            change[t, k] = changing[k] / mass if total > 0.0 else np.nan
        for f in range(len(carriers)):
            share = weights[f] / total
            if share > 0.0:
                sole, touching = work[carriers[f]], vector(corners[t, lowest[f]], 0)
                _subtract_slip(share, sole, MOTION, touching, velocity[t])
                _subtract_slip(share, sole, _CHANGE, touching, change[t])


@inlined
def _subtract_slip(share: float, body: Array, k: int, point: Vector, motion: Array) -> None:
    """Subtract a share of a point's velocity on a body, whose own stands from entry k on."""
    arm = add(point, scale(-1.0, vector(body, POSITION)))
    slip = add(vector(body, k), cross(vector(body, k + 3), arm))
    store(motion, 0, add(vector(motion, 0), scale(-share, slip)))


@kernel
def _move(
    joints: Indices, bodies: Array, omega: Array, q: Array, qd: Array, qdd: Array, work: Array
) -> tuple[Vector, Vector, Vector]:
    """Place and move all bodies as if the root's origin were at rest; write their rows.

    Returns:
        Σ m r, and the momentum of the motion by ω and q̇, and by q̈ in the place of q̇ alone.
    """
    work[0] = 0.0
    set_identity(work[0])
    store(work[0], MOTION + 3, vector(omega, 0))
    moment = moving = changing = (0.0, 0.0, 0.0)
    for i in range(len(joints)):
        own, body = work[i], bodies[i]
        if i > 0:
            parent, j = work[joints[i, PARENT]], joints[i, DRIVER]
            revolute, factor = joints[i, KIND] == REVOLUTE, body[MULTIPLIER]
            r = place(joints[i], body, joint_position(joints[i], body, q), parent, own)
            carry_velocity(revolute, r, factor * qd[j], parent, own, MOTION)
            carry_velocity(revolute, r, factor * qdd[j], parent, own, _CHANGE)
        ms = rotate(own, vector(body, FIRST_MOMENT))
        moment = add(moment, add(scale(body[MASS], vector(own, POSITION)), ms))
        moving = add(moving, linear_momentum(body, ms, own, MOTION))
        changing = add(changing, linear_momentum(body, ms, own, _CHANGE))
    return moment, moving, changing


@kernel
def _weigh(loaded: Flags, forces: Array, weights: Array) -> float:
    """Write the weights (F,) of the feet, 0 for one in the air; return their sum."""
    known, total = np.isfinite(forces).all(), 0.0
    for f in range(len(loaded)):
        weights[f] = 0.0
        if loaded[f]:
            weights[f] = forces[f] if known else 1.0
        total += weights[f]
    return total


@kernel
def _find_lowest(corners: Array, foot: Indices, up: Array, lowest: Indices) -> None:
    """Write the lowest corner (F,) of each sole; the first one that is not known, if any."""
    heights = np.full(len(lowest), np.inf)
    lowest[:] = -1
    for c in range(len(foot)):
        f = foot[c]
        height = dot(vector(corners[c], 0), vector(up, 0))
        if lowest[f] < 0 or height < heights[f] or (np.isnan(height) and heights[f] == heights[f]):
            heights[f], lowest[f] = height, c
