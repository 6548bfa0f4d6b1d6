"""Numba kernels of both methods; `mr_ad.py` and `ir_md.py` hold their readable twins.

Everything is in root axes. Vectors are tuples of three numbers, so a formula reads as in the
paper and compiles to registers. The arguments are packed (two arrays of constants, one of the
state, one of work space) because unpacking Python arguments costs as much as the mathematics.

Compiling takes some seconds once per version; the result is cached on disk.
`compile_kernels` does it on demand, so that no first sample of a running system waits for it.
"""

import functools

import numpy as np

from izmp_dynamics.conventions import Array, Indices, frozen
from izmp_dynamics.kernel import announced_compilation, inlined, kernel

ROOT = 9
"""Entries of a packed state before q: φ (3) [m/s²], ω (3) [rad/s], ω̇ (3) [rad/s²]."""

WORK = 21
"""Columns of the work space, a row per body: root_R_body (9), r_H, φ_O or v_O, ω, ω̇ (3 each)."""

Vector = tuple[float, float, float]


@inlined
def _get(a: Array, k: int) -> Vector:
    return (a[k], a[k + 1], a[k + 2])


@inlined
def _set(a: Array, k: int, x: Vector) -> None:
    a[k], a[k + 1], a[k + 2] = x


@inlined
def _add(a: Vector, b: Vector) -> Vector:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def _scale(s: float, a: Vector) -> Vector:
    return (s * a[0], s * a[1], s * a[2])


@inlined
def _cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def _rotate(R: Array, a: Vector) -> Vector:
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@inlined
def _rotate_back(R: Array, a: Vector) -> Vector:
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@inlined
def _inertia(body: Array, a: Vector) -> Vector:
    """Θ^(O) a in body axes."""
    xx, yy, zz, xy, xz, yz = body[16], body[17], body[18], body[19], body[20], body[21]
    return (
        xx * a[0] + xy * a[1] + xz * a[2],
        xy * a[0] + yy * a[1] + yz * a[2],
        xz * a[0] + yz * a[1] + zz * a[2],
    )


@inlined
def _place(joint: Indices, body: Array, q: float, parent: Array, own: Array) -> Vector:
    """Write the pose of a body into its work row; return r from the parent's origin to its own."""
    revolute = joint[1] == 0
    c, s, travel = (np.cos(q), np.sin(q), 0.0) if revolute else (1.0, 0.0, q)
    for row in range(0, 9, 3):
        a, b, d = parent[row], parent[row + 1], parent[row + 2]
        x = a * body[0] + b * body[3] + d * body[6]
        y = a * body[1] + b * body[4] + d * body[7]
        own[row] = c * x + s * y
        own[row + 1] = c * y - s * x
        own[row + 2] = a * body[2] + b * body[5] + d * body[8]
    n = (own[2], own[5], own[8])
    r: Vector = _add(_rotate(parent, _get(body, 9)), _scale(travel, n))
    _set(own, 9, _add(_get(parent, 9), r))
    return r


@inlined
def _accelerate(
    joint: Indices, body: Array, q: float, qd: float, qdd: float, parent: Array, own: Array
) -> None:
    """Carry pose, φ, ω and ω̇ over one joint (eqs. 15–20; physics of the prismatic joint)."""
    r = _place(joint, body, q, parent, own)
    n = (own[2], own[5], own[8])
    phi, w, wd = _get(parent, 12), _get(parent, 15), _get(parent, 18)
    phi = _add(phi, _add(_cross(wd, r), _cross(w, _cross(w, r))))
    w_cross_qdn = _scale(qd, _cross(w, n))
    if joint[1] == 0:
        wd = _add(wd, _add(w_cross_qdn, _scale(qdd, n)))
        w = _add(w, _scale(qd, n))
    else:
        phi = _add(phi, _add(_scale(2.0, w_cross_qdn), _scale(qdd, n)))
    _set(own, 12, phi)
    _set(own, 15, w)
    _set(own, 18, wd)


@inlined
def _add_wrench(body: Array, own: Array, out: Array) -> None:
    """Add one body's summands of eqs. 12 and 13, with φ in the place of a."""
    ms = _rotate(own, _get(body, 13))
    r, phi, w, wd = _get(own, 9), _get(own, 12), _get(own, 15), _get(own, 18)
    f = _add(_scale(body[12], phi), _add(_cross(wd, ms), _cross(w, _cross(w, ms))))
    w_own, wd_own = _rotate_back(own, w), _rotate_back(own, wd)
    spin = _add(_inertia(body, wd_own), _cross(w_own, _inertia(body, w_own)))
    moment = _add(_cross(r, f), _add(_cross(ms, phi), _rotate(own, spin)))
    _set(out, 0, _add(_get(out, 0), f))
    _set(out, 3, _add(_get(out, 3), moment))
    _set(out, 6, _add(_get(out, 6), _add(_scale(body[12], r), ms)))


@kernel
def mr_ad(joints: Indices, bodies: Array, state: Array, work: Array, out: Array) -> None:
    """Evaluate MR-AD (eqs. 12 and 13 with the recursion of eqs. 15–20) for one state.

    Args:
        joints: (B, 3) int64, see `RobotModel`.
        bodies: (B, 24), see `RobotModel`.
        state: (9 + 3n,) φ, ω, ω̇ of the root, then q, q̇, q̈.
        work: (B, 21) work space.
        out: (9,) F_c [N], M_c about the root origin [N·m], Σ m r_COM [kg·m].
    """
    n = (state.shape[0] - ROOT) // 3
    out[:] = 0.0
    _start(state, 9, work[0])
    _add_wrench(bodies[0], work[0], out)
    for i in range(1, joints.shape[0]):
        j = ROOT + joints[i, 2]
        k = bodies[i, 22]
        q = k * state[j] + bodies[i, 23]
        qd, qdd = k * state[j + n], k * state[j + 2 * n]
        _accelerate(joints[i], bodies[i], q, qd, qdd, work[joints[i, 0]], work[i])
        _add_wrench(bodies[i], work[i], out)


@inlined
def _start(state: Array, size: int, own: Array) -> None:
    """Set the root's work row: identity, no offset, the motion of the root."""
    own[:] = 0.0
    own[0] = own[4] = own[8] = 1.0
    for k in range(
        size
    ):  # as `own[12:] = state` it would take numba three times as long to compile
        own[12 + k] = state[k]


@kernel
def mr_ad_batch(joints: Indices, bodies: Array, states: Array) -> Array:
    """Evaluate MR-AD for packed states (T, 9 + 3n); returns (T, 9) as `mr_ad`."""
    work = np.empty((joints.shape[0], WORK))
    out = np.empty((states.shape[0], 9))
    for t in range(states.shape[0]):
        mr_ad(joints, bodies, states[t], work, out[t])
    return out


@inlined
def _move(joint: Indices, body: Array, q: float, qd: float, parent: Array, own: Array) -> None:
    """Carry pose, velocity and ω over one joint."""
    r = _place(joint, body, q, parent, own)
    n = (own[2], own[5], own[8])
    velocity, w = _get(parent, 12), _get(parent, 15)
    velocity = _add(velocity, _cross(w, r))
    if joint[1] == 0:
        w = _add(w, _scale(qd, n))
    else:
        velocity = _add(velocity, _scale(qd, n))
    _set(own, 12, velocity)
    _set(own, 15, w)


@inlined
def _add_momentum(body: Array, own: Array, out: Array) -> None:
    """Add one body's momentum and its angular momentum of eq. 8."""
    ms = _rotate(own, _get(body, 13))
    r, velocity, w = _get(own, 9), _get(own, 12), _get(own, 15)
    w_cross_ms = _cross(w, ms)
    p = _add(_scale(body[12], velocity), w_cross_ms)
    spin = _rotate(own, _inertia(body, _rotate_back(own, w)))
    angular = _add(_cross(r, p), _add(_cross(ms, velocity), spin))
    _set(out, 0, _add(_get(out, 0), p))
    _set(out, 3, _add(_get(out, 3), angular))
    _set(out, 6, _add(_get(out, 6), _add(_scale(body[12], r), ms)))


@kernel
def momentum(joints: Indices, bodies: Array, state: Array, work: Array, out: Array) -> None:
    """Evaluate the momentum and, by eq. 8, the angular momentum about the root origin.

    Args:
        joints: (B, 3) int64, see `RobotModel`.
        bodies: (B, 24), see `RobotModel`.
        state: (6 + 2n,) v [m/s] and ω [rad/s] of the root in root axes, then q, q̇.
        work: (B, 21) work space.
        out: (9,) P [kg·m/s], L about the root origin [kg·m²/s], Σ m r_COM [kg·m].
    """
    n = (state.shape[0] - 6) // 2
    out[:] = 0.0
    _start(state, 6, work[0])
    _add_momentum(bodies[0], work[0], out)
    for i in range(1, joints.shape[0]):
        j = 6 + joints[i, 2]
        k = bodies[i, 22]
        q, qd = k * state[j] + bodies[i, 23], k * state[j + n]
        _move(joints[i], bodies[i], q, qd, work[joints[i, 0]], work[i])
        _add_momentum(bodies[i], work[i], out)


@kernel
def momentum_batch(joints: Indices, bodies: Array, states: Array) -> Array:
    """Evaluate `momentum` for packed states (T, 6 + 2n); returns (T, 9)."""
    work = np.empty((joints.shape[0], WORK))
    out = np.empty((states.shape[0], 9))
    for t in range(states.shape[0]):
        momentum(joints, bodies, states[t], work, out[t])
    return out


@functools.cache
def compile_kernels() -> None:
    """Compile all kernels now, or load them from the cache.

    Without this the first call of each kernel would wait for the compiler.
    """
    joints, bodies = frozen([[-1, 0, 0]], np.int64), frozen(np.zeros((1, 24)))
    state, work, out = np.zeros(ROOT), np.empty((1, WORK)), np.empty(9)
    with announced_compilation():
        mr_ad(joints, bodies, state, work, out)
        mr_ad_batch(joints, bodies, state[None])
        momentum(joints, bodies, state[:6], work, out)
        momentum_batch(joints, bodies, state[None, :6])
