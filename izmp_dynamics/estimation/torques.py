"""Normal forces on feet by the torques of the legs.

About the axis n of each joint of a leg, which goes through p, the moment of the force f and the
moment m on the foot at c is what the links beyond need for their motion and their weight, as
MR-AD's recursion sums them up (F, M; eqs. 12 and 13), less the torque of the joint:

    n·((c − p) × f + m) = n·(M − p × F) − τ

Nothing is divided by a lever that may vanish, as f = J⁻ᵀτ would at a straight knee: joint by joint
the equations narrow down a force that may be as large as all of the contact force, and a moment
that keeps the centre of pressure in the sole (recursive least squares). The inertia of rotors,
friction, and what mimic joints add are neglected; `TORQUE` is the room that they have.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.vectors import add, cross, dot, scale, store, vector
from izmp_dynamics.dynamics.kernels import WORK, add_wrench, mr_ad
from izmp_dynamics.model.body_layout import (
    DRIVER,
    KIND,
    MULTIPLIER,
    PARENT,
    POSITION,
    REVOLUTE,
)
from izmp_dynamics.model.kinematics import z_axis

TORQUE = 0.02
"""Standard deviation of a torque, as a share of the contact force times the length of the leg."""


@kernel
def pulls_of_legs(
    joints: Indices,
    bodies: Array,
    carriers: Indices,
    state: Array,
    torques: Array,
    wrench: Array,
    up: Array,
    corners: Array,
    foot: Indices,
    pulls: Array,
) -> None:
    """Write what the torques say of the normal forces on the feet at an instant.

    Args:
        joints: (B, 3), see `body_layout`.
        bodies: (B, 24), see `body_layout`.
        carriers: (F,) the bodies that carry the soles.
        state: (9 + 3n,) φ, ω, ω̇ of the root, then q, q̇, q̈.
        torques: (n,) of the joints [N·m] or [N]; NaN, and 0 as joints without a sensor
            publish it: not known.
        wrench: (6,) contact wrench on the robot about the root origin [N], [N·m].
        up: (3,) unit vector against gravity.
        corners: (C, 3) of all soles, of balls the lowest points [m].
        foot: (C,) which foot each belongs to.
        pulls: (F, 2) out: normal force on each foot [N] and its variance [N²], if by itself it
            were 0 ± the contact force.
    """
    work, taken, beyond = np.empty((len(bodies), WORK)), np.empty(9), np.zeros((len(bodies), 9))
    mr_ad(joints, bodies, state, work, taken)
    for i in range(len(bodies) - 1, 0, -1):
        add_wrench(bodies[i], work[i], beyond[i])
        if joints[i, PARENT] > 0:
            beyond[joints[i, PARENT]] += beyond[i]
    strength = np.sqrt(dot(vector(wrench, 0), vector(wrench, 0)))
    row, gain, load = np.zeros(6), np.zeros(6), np.zeros(6)
    for f in range(len(pulls)):
        count, c, size = 0, (0.0, 0.0, 0.0), 0.0
        for k in range(len(foot)):
            if foot[k] == f:
                count, c = count + 1, add(c, vector(corners[k], 0))
        c = scale(1.0 / count, c)
        for k in range(len(foot)):
            if foot[k] == f:
                off = add(vector(corners[k], 0), scale(-1.0, c))
                size += dot(off, off) / count
        doubt = np.zeros((6, 6))
        for k in range(3):
            doubt[k, k], doubt[3 + k, 3 + k] = strength**2, strength**2 * size
        load[:] = 0.0
        i, hip = carriers[f], c
        while i > 0:
            i, hip = joints[i, PARENT], vector(work[i], POSITION)
        leg = add(c, scale(-1.0, hip))
        i = carriers[f]
        while i > 0:
            torque, n, p = torques[joints[i, DRIVER]], z_axis(work[i]), vector(work[i], POSITION)
            error = TORQUE * strength
            if joints[i, KIND] == REVOLUTE:
                store(row, 0, cross(n, add(c, scale(-1.0, p))))
                store(row, 3, n)
                needed = dot(n, add(vector(beyond[i], 3), cross(vector(beyond[i], 0), p)))
                error *= np.sqrt(dot(leg, leg))
            else:
                store(row, 0, n)
                row[3:] = 0.0
                needed = dot(n, vector(beyond[i], 0))
            if torque != 0.0 and np.isfinite(torque) and bodies[i, MULTIPLIER] == 1.0:
                for k in range(6):
                    gain[k] = (doubt[k] * row).sum()
                spread = (row * gain).sum() + error**2
                rest = (needed - torque - (row * load).sum()) / spread
                for k in range(6):
                    load[k] += gain[k] * rest
                    doubt[k] -= gain[k] / spread * gain
            i = joints[i, PARENT]
        pulls[f, 0], pulls[f, 1] = dot(vector(up, 0), vector(load, 0)), 0.0
        for k in range(3):
            pulls[f, 1] += up[k] * dot(vector(up, 0), vector(doubt[k], 0))
