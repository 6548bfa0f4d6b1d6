"""Numba kernels of both methods; `mr_ad.py` and `ir_md.py` hold their readable twins.

`mr_ad_batch.py` evaluates MR-AD for many states at once.

Everything is in root axes. The arguments are packed (two arrays of constants, one of the
state, one of work space) because unpacking Python arguments costs as much as the mathematics.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.kernel import inlined, kernel
from izmp_dynamics.base.vectors import (
    Vector,
    add,
    cross,
    dot,
    rotate,
    rotate_back,
    scale,
    store,
    vector,
)
from izmp_dynamics.model.body_layout import (
    DRIVER,
    FIRST_MOMENT,
    INERTIA,
    KIND,
    MASS,
    MULTIPLIER,
    OFFSET,
    PARENT,
    POSE,
    POSITION,
    REVOLUTE,
)
from izmp_dynamics.model.kinematics import carry, place, set_identity, turn, z_axis

ROOT = 9
"""Entries of a packed state before q: φ (3) [m/s²], ω (3) [rad/s], ω̇ (3) [rad/s²]."""

MOMENTUM_ROOT = 6
"""Entries of a packed state of `momentum` before q: v (3) [m/s], ω (3) [rad/s]."""

MOTIONS = 12
"""Entries of a packed state of `momentum_in_world` more than of one of `momentum`."""

MOTION, OMEGA, OMEGA_DOT, WORK = POSE, POSE + 3, POSE + 6, POSE + 9
"""Work space, a row per body: root_R_body and r_H (a pose), φ_O or v_O, ω, ω̇; its columns."""


@inlined
def _inertia(body: Array, a: Vector) -> Vector:
    """Θ^(O) a in body axes."""
    xx, yy, zz = vector(body, INERTIA)
    xy, xz, yz = vector(body, INERTIA + 3)
    return (
        xx * a[0] + xy * a[1] + xz * a[2],
        xy * a[0] + yy * a[1] + yz * a[2],
        xz * a[0] + yz * a[1] + zz * a[2],
    )


@inlined
def accelerate(
    revolute: bool,
    body: Array,
    turned: Vector,
    qd: float,
    qdd: float,
    parent: Array,
    own: Array,
) -> None:
    """Carry pose, φ, ω and ω̇ over one joint (eqs. 15–20; physics of the prismatic joint)."""
    r = carry(body, turned, parent, own)
    n = z_axis(own)
    phi, w, wd = vector(parent, MOTION), vector(parent, OMEGA), vector(parent, OMEGA_DOT)
    phi = add(phi, add(cross(wd, r), cross(w, cross(w, r))))
    w_cross_qdn = scale(qd, cross(w, n))
    if revolute:
        wd = add(wd, add(w_cross_qdn, scale(qdd, n)))
        w = add(w, scale(qd, n))
    else:
        phi = add(phi, add(scale(2.0, w_cross_qdn), scale(qdd, n)))
    store(own, MOTION, phi)
    store(own, OMEGA, w)
    store(own, OMEGA_DOT, wd)


@inlined
def add_wrench(body: Array, own: Array, out: Array) -> None:
    """Add one body's summands of eqs. 12 and 13, with φ in the place of a."""
    ms = rotate(own, vector(body, FIRST_MOMENT))
    r, phi, w, wd = (
        vector(own, POSITION),
        vector(own, MOTION),
        vector(own, OMEGA),
        vector(own, OMEGA_DOT),
    )
    f = add(scale(body[MASS], phi), add(cross(wd, ms), cross(w, cross(w, ms))))
    w_own, wd_own = rotate_back(own, w), rotate_back(own, wd)
    spin = add(_inertia(body, wd_own), cross(w_own, _inertia(body, w_own)))
    moment = add(cross(r, f), add(cross(ms, phi), rotate(own, spin)))
    store(out, 0, add(vector(out, 0), f))
    store(out, 3, add(vector(out, 3), moment))
    store(out, 6, add(vector(out, 6), add(scale(body[MASS], r), ms)))


@kernel
def mr_ad(joints: Indices, bodies: Array, state: Array, work: Array, out: Array) -> None:
    """Evaluate MR-AD (eqs. 12 and 13 with the recursion of eqs. 15–20) for one state.

    Args:
        joints: (B, 3) int64, see `body_layout`.
        bodies: (B, 24), see `body_layout`.
        state: (9 + 3n,) φ, ω, ω̇ of the root, then q, q̇, q̈.
        work: (B, 21) work space.
        out: (9,) F_c [N], M_c about the root origin [N·m], Σ m r_COM [kg·m].
    """
    n = (state.shape[0] - ROOT) // 3
    out[:] = 0.0
    _start(state, ROOT, work[0])
    add_wrench(bodies[0], work[0], out)
    for i in range(1, joints.shape[0]):
        j = ROOT + joints[i, DRIVER]
        k = bodies[i, MULTIPLIER]
        q = k * state[j] + bodies[i, OFFSET]
        qd, qdd = k * state[j + n], k * state[j + 2 * n]
        revolute, turned = joints[i, KIND] == REVOLUTE, turn(joints[i], q)
        accelerate(revolute, bodies[i], turned, qd, qdd, work[joints[i, PARENT]], work[i])
        add_wrench(bodies[i], work[i], out)


@kernel
def mr_ad_with_units(
    joints: Indices,
    bodies: Array,
    carried: Indices,
    levers: Array,
    states: Array,
    motions: Array,
    out: Array,
) -> None:
    """Evaluate MR-AD where some bodies carry units that measure their own motion.

    The recursion of eqs. 15–20 goes outwards from the root. Where a unit knows φ, ω and ω̇ of its
    body, these replace those of the recursion, which goes on from there: the joints between the
    root and the body then give its pose alone. See `_by_neighbours` for ω̇.

    Args:
        joints: (B, 3) int64, see `body_layout`.
        bodies: (B, 24), see `body_layout`.
        carried: (B,) int64 which unit each body carries; -1: none.
        levers: (S,) see `_by_neighbours`.
        states: (T, 9 + 3n) as `mr_ad` takes them.
        motions: (T, S, 9) φ of the body's origin, ω and ω̇ by each unit, in the axes of its body;
            one that is not finite counts as not measured.
        out: (T, 9) as that of `mr_ad`.
    """
    n = (states.shape[1] - ROOT) // 3
    work, measured = np.empty((joints.shape[0], WORK)), np.empty((len(levers), ROOT))
    information = np.empty((joints.shape[0], 4, 3))
    for t in range(len(states)):
        state = states[t]
        measured[:] = motions[t]
        if levers.any():
            _by_neighbours(joints, bodies, carried, levers, state, measured, work, information)
        for k in range(9):
            out[t, k] = 0.0
        _start(state, ROOT, work[0])
        add_wrench(bodies[0], work[0], out[t])
        for i in range(1, joints.shape[0]):
            j = ROOT + joints[i, DRIVER]
            k = bodies[i, MULTIPLIER]
            q = k * state[j] + bodies[i, OFFSET]
            qd, qdd = k * state[j + n], k * state[j + 2 * n]
            revolute, turned = joints[i, KIND] == REVOLUTE, turn(joints[i], q)
            own = work[i]
            accelerate(revolute, bodies[i], turned, qd, qdd, work[joints[i, PARENT]], own)
            if carried[i] >= 0:
                _take(measured[carried[i]], own)
            add_wrench(bodies[i], own, out[t])


@inlined
def _take(measured: Array, own: Array) -> bool:
    """Replace φ, ω and ω̇ of a body by those of its unit (9,), if all are known."""
    total = 0.0
    for m in range(ROOT):
        total += measured[m]
    if not np.isfinite(total):
        return False
    store(own, MOTION, rotate(own, vector(measured, 0)))
    store(own, OMEGA, rotate(own, vector(measured, 3)))
    store(own, OMEGA_DOT, rotate(own, vector(measured, 6)))
    return True


@kernel
def _by_neighbours(
    joints: Indices,
    bodies: Array,
    carried: Indices,
    levers: Array,
    state: Array,
    motions: Array,
    work: Array,
    information: Array,
) -> None:
    """Improve ω̇ of bodies by the accelerometers of units beyond their revolute joints.

    The origin of such a neighbour is a point r of the body as well, so its φ is that of a further
    accelerometer there (eq. 23): ω̇ × r = φ(r) − φ − ω × (ω × r). With w, the variance of ω̇ by
    the gyroscope over that of a difference of two φ, the least squares of both are

        (1 + w Σ (r² − r rᵀ)) ω̇ = ω̇_gyro + w Σ r × (φ(r) − φ − ω × (ω × r))

    Args:
        joints: (B, 3) int64, see `body_layout`.
        bodies: (B, 24), see `body_layout`.
        carried: (B,) int64 which unit each body carries; -1: none.
        levers: (S,) w of each unit [1/m²]; 0: its ω̇ stays.
        state: (9 + 3n,) as `mr_ad` takes it; only q counts.
        motions: (S, 9) of the units; its ω̇ is changed.
        work: (B, 21) work space.
        information: (B, 4, 3) work space.
    """
    _start(state, ROOT, work[0])
    for i in range(1, joints.shape[0]):
        k, parent = carried[i], joints[i, PARENT]
        q = bodies[i, MULTIPLIER] * state[ROOT + joints[i, DRIVER]] + bodies[i, OFFSET]
        own, above = work[i], work[parent]
        r = place(joints[i], bodies[i], q, above, own)
        information[i] = 0.0
        for m in range(3):
            information[i, m, m] = 1.0
        own[MOTION] = np.nan
        if k < 0 or not _take(motions[k], own):
            continue
        store(information[i, 3], 0, vector(own, OMEGA_DOT))
        above_k = carried[parent]
        if above_k < 0 or joints[i, KIND] != REVOLUTE or not np.isfinite(above[MOTION]):
            continue
        w, omega = levers[above_k], vector(above, OMEGA)
        felt = add(vector(own, MOTION), scale(-1.0, vector(above, MOTION)))
        turns = cross(r, add(felt, scale(-1.0, cross(omega, cross(omega, r)))))
        for m in range(3):
            information[parent, m, m] += w * dot(r, r)
            information[parent, 3, m] += w * turns[m]
            for j in range(3):
                information[parent, m, j] -= w * r[m] * r[j]
    for i in range(1, joints.shape[0]):
        k = carried[i]
        if k >= 0 and np.isfinite(work[i, MOTION]):
            rows = information[i]
            x, y, z = vector(rows[0], 0), vector(rows[1], 0), vector(rows[2], 0)
            b, yz = vector(rows[3], 0), cross(y, z)
            solved = add(scale(b[0], yz), add(scale(b[1], cross(z, x)), scale(b[2], cross(x, y))))
            store(motions[k], 6, rotate_back(work[i], scale(1.0 / dot(x, yz), solved)))


@inlined
def _start(state: Array, size: int, own: Array) -> None:
    """Set the root's work row: identity, no offset, the motion of the root."""
    own[:] = 0.0
    set_identity(own)
    for k in range(size):  # quicker to compile than `own[MOTION:] = state`
        own[MOTION + k] = state[k]


@inlined
def carry_velocity(
    revolute: bool, r: Vector, qd: float, parent: Array, own: Array, k: int
) -> None:
    """Carry a velocity and its ω, from entry k on, over a joint; `place` gave the pose and r."""
    n = z_axis(own)
    velocity, w = vector(parent, k), vector(parent, k + 3)
    velocity = add(velocity, cross(w, r))
    if revolute:
        w = add(w, scale(qd, n))
    else:
        velocity = add(velocity, scale(qd, n))
    store(own, k, velocity)
    store(own, k + 3, w)


@inlined
def linear_momentum(body: Array, ms: Vector, own: Array, k: int) -> Vector:
    """One body's momentum, from the velocity and ω from entry k on and the turned m s."""
    return add(scale(body[MASS], vector(own, k)), cross(vector(own, k + 3), ms))


@inlined
def _add_momentum(body: Array, own: Array, out: Array) -> None:
    """Add one body's momentum and its angular momentum of eq. 8."""
    ms = rotate(own, vector(body, FIRST_MOMENT))
    r, velocity, w = vector(own, POSITION), vector(own, MOTION), vector(own, OMEGA)
    p = linear_momentum(body, ms, own, MOTION)
    spin = rotate(own, _inertia(body, rotate_back(own, w)))
    angular = add(cross(r, p), add(cross(ms, velocity), spin))
    store(out, 0, add(vector(out, 0), p))
    store(out, 3, add(vector(out, 3), angular))
    store(out, 6, add(vector(out, 6), add(scale(body[MASS], r), ms)))


@kernel
def momentum(joints: Indices, bodies: Array, state: Array, work: Array, out: Array) -> None:
    """Evaluate the momentum and, by eq. 8, the angular momentum about the root origin.

    Args:
        joints: (B, 3) int64, see `body_layout`.
        bodies: (B, 24), see `body_layout`.
        state: (6 + 2n,) v [m/s] and ω [rad/s] of the root in root axes, then q, q̇.
        work: (B, 21) work space.
        out: (9,) P [kg·m/s], L about the root origin [kg·m²/s], Σ m r_COM [kg·m].
    """
    n = (state.shape[0] - MOMENTUM_ROOT) // 2
    out[:] = 0.0
    _start(state, MOMENTUM_ROOT, work[0])
    _add_momentum(bodies[0], work[0], out)
    for i in range(1, joints.shape[0]):
        j = MOMENTUM_ROOT + joints[i, DRIVER]
        k = bodies[i, MULTIPLIER]
        q, qd = k * state[j] + bodies[i, OFFSET], k * state[j + n]
        parent, own = work[joints[i, PARENT]], work[i]
        r = place(joints[i], bodies[i], q, parent, own)
        carry_velocity(joints[i, KIND] == REVOLUTE, r, qd, parent, own, MOTION)
        _add_momentum(bodies[i], work[i], out)


@kernel
def momentum_in_world(joints: Indices, bodies: Array, motions: Array) -> Array:
    """Evaluate `momentum` in world axes.

    Args:
        joints: (B, 3) int64, see `body_layout`.
        bodies: (B, 24), see `body_layout`.
        motions: (T, 18 + 2n) world_R_root, row-major, the root's position [m] and velocity [m/s]
            in the world, its angular velocity in root axes [rad/s], then q, q̇.

    Returns:
        (T, 9) P [kg·m/s], L about the world's origin [kg·m²/s], centre of mass [m].
    """
    mass = 0.0
    for body in bodies:
        mass += body[MASS]
    work, state = np.empty((joints.shape[0], WORK)), np.empty(motions.shape[1] - MOTIONS)
    out, own = np.empty((motions.shape[0], 9)), np.empty(9)
    for t in range(motions.shape[0]):
        motion = motions[t]
        position = vector(motion, 9)
        store(state, 0, rotate_back(motion, vector(motion, 12)))
        for k in range(3, len(state)):
            state[k] = motion[k + MOTIONS]
        momentum(joints, bodies, state, work, own)
        linear = rotate(motion, vector(own, 0))
        store(out[t], 0, linear)
        store(out[t], 3, add(rotate(motion, vector(own, 3)), cross(position, linear)))
        store(out[t], 6, add(scale(1.0 / mass, rotate(motion, vector(own, 6))), position))
    return out
