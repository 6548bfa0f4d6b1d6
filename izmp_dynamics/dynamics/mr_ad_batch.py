"""MR-AD for many states: the kernel `kernels.mr_ad`, on several states and cores at once.

Numbers of `LANES` states lie side by side, so that the innermost loops, over the states, become
SIMD code. The formulas and the order of their operations are those of the other kernel; so are
the results, bit for bit.
"""

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.kernel import kernel_without_gil
from izmp_dynamics.base.vectors import FAR, near_sin_cos
from izmp_dynamics.dynamics.kernels import (
    MOTION,
    ROOT,
    WORK,
    accelerate,
    add_wrench,
)
from izmp_dynamics.model.body_layout import (
    DRIVER,
    KIND,
    MULTIPLIER,
    OFFSET,
    PARENT,
    POSE,
    REVOLUTE,
    ROTATION,
)

LANES = 32
"""States side by side: the loops over fewer gain less, the work space of more is out of cache."""

FEW = 12
"""States that are quicker one by one than in lanes that are mostly empty."""

PER_THREAD = 2048
"""States that are worth a thread."""


def mr_ad_batch(joints: Indices, bodies: Array, states: Array) -> Array:
    """Evaluate MR-AD for packed states, many of them on up to NUMBA_NUM_THREADS threads.

    Args:
        joints: (B, 3) int64, see `body_layout`.
        bodies: (B, 24), see `body_layout`.
        states: (T, 9 + 3n) as `kernels.mr_ad` takes them.

    Returns:
        (T, 9) as `kernels.mr_ad`.
    """
    count = len(states)
    out = np.empty((count, 9))
    states = np.require(states, np.float64, ('C', 'W'))  # one layout is compiled
    bodies = bodies.view()
    bodies.setflags(write=False)  # as those of a model, or it would be compiled a second time
    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    threads = min(most, count // PER_THREAD)
    if threads < 2:
        _mr_ad_lanes(joints, bodies, states, out)
        return out
    part = -(-count // threads)
    parts = [slice(k, k + part) for k in range(0, count, part)]
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda p: _mr_ad_lanes(joints, bodies, states[p], out[p]), parts):
            pass
    return out


@kernel_without_gil
def _mr_ad_lanes(joints: Indices, bodies: Array, states: Array, out: Array) -> None:
    """Write what `mr_ad_batch` returns.

    A loop over the lanes is vectorised if few of its arrays may overlap as far as the compiler
    knows: therefore the pose and motion of the parent are copied, and what does not depend on the
    lane is read before the loop.
    """
    n = (states.shape[1] - ROOT) // 3
    work, parent = np.empty((len(joints), WORK, LANES)), np.empty((WORK, LANES))
    q, qd, qdd = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    c, s, travel = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    total = np.empty((9, LANES))
    rows = np.empty(LANES, np.int64)
    for first in range(0, len(states), LANES):
        for t in range(LANES):
            rows[t] = min(first + t, len(states) - 1)  # the last one again where there is none
            for k in range(9):
                total[k, t] = 0.0
            for k in range(POSE):
                work[0, k, t] = 0.0
            work[0, ROTATION, t] = work[0, ROTATION + 4, t] = work[0, ROTATION + 8, t] = 1.0
            for k in range(ROOT):
                work[0, MOTION + k, t] = states[rows[t], k]
        for i in range(len(joints)):
            if i > 0:
                j = ROOT + joints[i, DRIVER]
                factor, offset = bodies[i, MULTIPLIER], bodies[i, OFFSET]
                revolute = joints[i, KIND] == REVOLUTE
                far = False
                for t in range(LANES):
                    q[t] = factor * states[rows[t], j] + offset
                    qd[t] = factor * states[rows[t], j + n]
                    qdd[t] = factor * states[rows[t], j + 2 * n]
                    far |= abs(q[t]) > FAR
                for t in range(LANES):
                    sine, cosine = near_sin_cos(q[t])
                    c[t] = cosine if revolute else 1.0
                    s[t] = sine if revolute else 0.0
                    travel[t] = 0.0 if revolute else q[t]
                if far and revolute:
                    for t in range(LANES):
                        if abs(q[t]) > FAR:
                            c[t], s[t] = np.cos(q[t]), np.sin(q[t])
                before = joints[i, PARENT]
                for k in range(WORK):
                    for t in range(LANES):
                        parent[k, t] = work[before, k, t]
                for t in range(LANES):
                    accelerate(
                        revolute, bodies[i], (c[t], s[t], travel[t]), qd[t], qdd[t],
                        parent[:, t], work[i, :, t],
                    )  # fmt: skip
            for t in range(LANES):
                add_wrench(bodies[i], work[i, :, t], total[:, t])
        for t in range(min(LANES, len(states) - first)):
            for k in range(9):
                out[first + t, k] = total[k, t]
